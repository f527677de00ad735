import type { RouteCost, RouteOptions } from '../routes/matcher.ts'
import type { Manifest, ManifestRoute } from './types.ts'
import { ConfigError } from '../errors.ts'
import { compileRoutes, validCost, validMethods } from '../routes/matcher.ts'
import { assertKnownOptions } from '../internal/validation.ts'

/** A route as an adapter takes it. */
interface AdapterRoute<Context extends unknown[]> extends RouteOptions<Context> {
  readonly id: string
}

/** A route of a manifest. */
export interface Entry<Context extends unknown[]> {
  /** Where it stands, such as `manifest.routes[2]`. */
  readonly place: string
  readonly options: ManifestRoute<Context>
  readonly route: AdapterRoute<Context>
}

const placeOf = (index: number): string => `manifest.routes[${index}]`

const OPTIONS = ['path', 'id', 'methods', 'cost', 'policies', 'overrides', 'rpm', 'burst', 'per']

/** The routes of a manifest. @throws ConfigError When one is malformed, or stands there twice. */
export function entriesOf<Context extends unknown[]>(
  manifest: Manifest<Context>,
): readonly Entry<Context>[] {
  const { defaults = {}, routes } = manifest
  assertKnownOptions('manifest.defaults', defaults, ['methods', 'cost'])
  if (defaults.methods !== undefined) validMethods('manifest.defaults.methods', defaults.methods)
  validCost('manifest.defaults.cost', defaults.cost)
  const prefix = validBasePath(manifest.basePath ?? '')
  if (!Array.isArray(routes) || routes.length === 0) {
    throw new ConfigError('invalid_option', 'manifest.routes', 'must list at least one route')
  }
  const entries = (routes as Manifest<Context>['routes']).map((given, index) => {
    const place = placeOf(index)
    const options = typeof given === 'string' ? { path: given } : given
    assertKnownOptions(place, options, OPTIONS)
    return { place, options, route: routeOf(`${place}.path`, prefix, options, defaults) }
  })
  // As an adapter will.
  compileRoutes(
    entries.map(({ route }) => route),
    undefined,
    placeOf,
  )
  const ids = new Set<string>()
  for (const { place, route } of entries) {
    if (ids.has(route.id)) {
      throw new ConfigError('invalid_option', `${place}.id`, 'is that of another route already')
    }
    ids.add(route.id)
  }
  return entries
}

function routeOf<Context extends unknown[]>(
  place: string,
  prefix: string,
  options: ManifestRoute<Context>,
  defaults: { readonly methods?: readonly string[]; readonly cost?: RouteCost<Context> },
): AdapterRoute<Context> {
  if (typeof options.path !== 'string' || !options.path.startsWith('/')) {
    throw new ConfigError('invalid_option', place, 'must be a pattern that starts with "/"')
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

function validBasePath(basePath: unknown): string {
  if (basePath === '' || (typeof basePath === 'string' && /^\/.*[^/]$/.test(basePath))) {
    return basePath
  }
  const message = 'must start with "/" and not end with it'
  throw new ConfigError('invalid_option', 'manifest.basePath', message)
}
