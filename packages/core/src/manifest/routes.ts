import type { RouteCost, RouteOptions } from '../routes/matcher.ts'
import type { Manifest, ManifestRoute } from './types.ts'
import { assertMethods, assertRouteCost, compileRoutes } from '../routes/matcher.ts'
import { assertKnownOptions, invalidOption } from '../internal/validation.ts'

/** A route as an adapter takes it. */
interface AdapterRoute<Context extends unknown[]> extends RouteOptions<Context> {
  readonly id: string
}

/** A route of a manifest. */
export interface RouteEntry<Context extends unknown[]> {
  /** The path of its options in errors, such as `manifest.routes[2]`. */
  readonly path: string
  readonly options: ManifestRoute<Context>
  readonly route: AdapterRoute<Context>
}

const pathOf = (index: number): string => `manifest.routes[${index}]`

const OPTIONS = ['path', 'id', 'methods', 'cost', 'policies', 'overrides', 'rpm', 'burst', 'per']

/** Parses the routes of a manifest. @throws ConfigError When a route is malformed or a duplicate. */
export function parseRoutes<Context extends unknown[]>(
  manifest: Manifest<Context>,
): readonly RouteEntry<Context>[] {
  const { defaults = {}, routes } = manifest
  assertKnownOptions('manifest.defaults', defaults, ['methods', 'cost'])
  if (defaults.methods !== undefined) assertMethods('manifest.defaults.methods', defaults.methods)
  assertRouteCost('manifest.defaults.cost', defaults.cost)
  const prefix = assertBasePath(manifest.basePath ?? '')
  if (!Array.isArray(routes) || routes.length === 0) {
    throw invalidOption('manifest.routes', 'must be a list of at least one route')
  }
  const entries = (routes as Manifest<Context>['routes']).map((input, index) => {
    const path = pathOf(index)
    const options = typeof input === 'string' ? { path: input } : input
    assertKnownOptions(path, options, OPTIONS)
    return { path, options, route: adapterRoute(`${path}.path`, prefix, options, defaults) }
  })
  // Validates the rest, as an adapter will.
  const compiled = entries.map(({ route }) => route)
  compileRoutes(compiled, undefined, pathOf)
  const ids = new Set<string>()
  for (const { path, route } of entries) {
    if (ids.has(route.id)) {
      throw invalidOption(`${path}.id`, 'must not be that of another route')
    }
    ids.add(route.id)
  }
  return entries
}

function adapterRoute<Context extends unknown[]>(
  option: string,
  prefix: string,
  options: ManifestRoute<Context>,
  defaults: { readonly methods?: readonly string[]; readonly cost?: RouteCost<Context> },
): AdapterRoute<Context> {
  if (typeof options.path !== 'string' || !options.path.startsWith('/')) {
    throw invalidOption(option, 'must be a pattern that starts with "/"')
  }
  const path = options.path === '/' && prefix !== '' ? prefix : prefix + options.path
  const { id = path, methods = defaults.methods, cost = defaults.cost } = options
  return Object.freeze({
    path,
    id,
    ...(methods === undefined ? {} : { methods }),
    ...(cost === undefined ? {} : { cost }),
  })
}

function assertBasePath(basePath: unknown): string {
  if (basePath === '' || (typeof basePath === 'string' && /^\/.*[^/]$/.test(basePath))) {
    return basePath
  }
  throw invalidOption('manifest.basePath', 'must start with "/" and not end with it')
}
