import type { Cost } from '../cost.ts'
import {
  assertKnownOptions,
  invalidOption,
  isUnits,
  MUST_BE_UNITS,
} from '../internal/validation.ts'
import { routeIds } from '../internal/route-ids.ts'
import { bySpecificity, compilePattern, isOpen, matches, shapeOf, type Pattern } from './pattern.ts'
import { readingsOf } from './readings.ts'

/** A route to limit: a path pattern, or a pattern with options. */
export type RouteInput<Context extends unknown[] = [], PlatformRequest extends Request = Request> =
  string | RouteOptions<Context, PlatformRequest>

/**
 * The cost of a request: units, or a function of the request that returns them. A function that reads
 * the body must clone the request, because the handler reads it later. An exception is not caught, but an
 * `InputError` of the body (`invalid_body`, `body_too_large`): it is answered with 400 or 413, and costs a request.
 *
 * @example
 * const cost: RouteCost = async (request) => {
 *   const { max_tokens } = await request.clone().json()
 *   return { token: Number.isInteger(max_tokens) ? Math.min(max_tokens, 4_096) : 4_096 }
 * }
 */
export type RouteCost<Context extends unknown[] = [], PlatformRequest extends Request = Request> =
  Cost | ((request: PlatformRequest, ...context: Context) => Cost | Promise<Cost>)

/** A route to limit. */
export interface RouteOptions<
  Context extends unknown[] = [],
  PlatformRequest extends Request = Request,
> {
  /** A path pattern: `/api/ai/evaluate`, `/api/models/:model`, `/api/ai/**`. */
  readonly path: string
  /** The id that requests are counted under (`subject.route`). @default the pattern */
  readonly id?: string
  /** The methods to match; `GET` matches `HEAD` too, which runs the same handler. @default all */
  readonly methods?: readonly string[]
  /** The cost of a request. @default the adapter's own `cost`, else 1 request */
  readonly cost?: RouteCost<Context, PlatformRequest>
}

/** The route that a request matches. */
export interface Route<Context extends unknown[] = [], PlatformRequest extends Request = Request> {
  readonly id: string
  readonly cost: RouteCost<Context, PlatformRequest> | undefined
}

/** Finds the route of a request, or `undefined` if it is not to be limited. */
export type RouteMatcher<
  Context extends unknown[] = [],
  PlatformRequest extends Request = Request,
> = (method: string, pathname: string) => Route<Context, PlatformRequest> | undefined

/** The longest path that is read, in characters. Most platforms accept no more than 16 KB. */
const MAX_PATH_LENGTH = 16_384

/** The route of a longer path: requests to it are refused. */
export const TOO_LONG_ROUTE: Route<unknown[]> = { id: 'too-long', cost: undefined }

/** One pattern of a route. */
interface Candidate<Context extends unknown[], PlatformRequest extends Request> {
  readonly route: Route<Context, PlatformRequest>
  readonly pattern: Pattern
  /** The methods to match; `undefined` for all. */
  readonly methods: readonly string[] | undefined
  /** The freedom of the pattern: 0 for a fixed path, 1 for open segments, 2 for any depth (`**`). */
  readonly openness: 0 | 1 | 2
  /** The number of patterns of the route: more than one with optional segments. */
  readonly variants: number
}

/**
 * Compiles routes. Requests are counted by the id of the route, never by their path, so that no
 * spelling of a path gets a budget of its own. A path that servers may read in several ways is limited
 * if one of the readings matches. The reading of most routers wins if its route has a fixed depth, else
 * the most specific route.
 *
 * @param alias Maps a path to another one that the platform treats as the same.
 * @param optionOf Names the route with an index in errors. @default `routes[0]`
 * @throws ConfigError When a route is malformed.
 */
export function compileRoutes<
  Context extends unknown[] = [],
  PlatformRequest extends Request = Request,
>(
  routes: readonly RouteInput<Context, PlatformRequest>[],
  alias: (path: string) => string = (path) => path,
  optionOf: (index: number) => string = (index) => `routes[${index}]`,
): RouteMatcher<Context, PlatformRequest> {
  if (!Array.isArray(routes) || routes.length === 0) {
    throw invalidOption('routes', 'must be a list of at least one route', routes)
  }
  const shapes = new Set<string>()
  const candidates = (routes as readonly RouteInput<Context, PlatformRequest>[])
    .flatMap((route, index) =>
      compileRoute(shapes, optionOf(index), typeof route === 'string' ? { path: route } : route),
    )
    .toSorted(
      (a, b) =>
        bySpecificity(a.pattern, b.pattern) ||
        Number(!a.methods) - Number(!b.methods) ||
        a.variants - b.variants,
    )
  return (method, pathname) => {
    if (pathname.length > MAX_PATH_LENGTH) return TOO_LONG_ROUTE
    const name = method.toUpperCase()
    const readings = readingsOf(pathname)
    let best: Candidate<Context, PlatformRequest> | undefined
    for (const path of new Set([...readings, ...readings.map(alias)])) {
      const segments = path.split('/').filter((segment) => segment !== '')
      const candidate = candidates.find(
        ({ methods, pattern }) =>
          (methods === undefined || methods.includes(name)) && matches(pattern, segments),
      )
      // Routers take `a%2Fb` for one segment. If a route does, too, no other reading may charge the
      // request to another route.
      if (candidate && path === readings[0] && candidate.openness < 2) return candidate.route
      if (candidate && (best === undefined || candidate.openness < best.openness)) best = candidate
    }
    return best?.route
  }
}

/** Compiles one route. `shapes` holds the routes before it, because no two may match the same paths. */
function compileRoute<Context extends unknown[], PlatformRequest extends Request>(
  shapes: Set<string>,
  option: string,
  options: RouteOptions<Context, PlatformRequest>,
): Candidate<Context, PlatformRequest>[] {
  assertKnownOptions(option, options, ['path', 'id', 'methods', 'cost'])
  const { path, id = path, cost } = options
  const isPath = typeof path === 'string' && path.startsWith('/') && !UNMATCHABLE.test(path)
  const patterns = isPath ? compilePattern(path) : undefined
  if (patterns === undefined) {
    throw invalidOption(`${option}.path`, MUST_BE_PATTERN, path)
  }
  if (typeof id !== 'string' || id === '') {
    throw invalidOption(`${option}.id`, 'must be a non-empty string', id)
  }
  const names =
    options.methods === undefined ? undefined : assertMethods(`${option}.methods`, options.methods)
  assertRouteCost(`${option}.cost`, cost)
  // The handler of GET also runs for HEAD.
  const methods = names?.includes('GET') ? [...new Set([...names, 'HEAD'])] : names
  for (const method of new Set(methods ?? [''])) {
    const shape = `${method} ${shapeOf(patterns)}`
    if (shapes.has(shape)) {
      throw invalidOption(`${option}.path`, 'must not be that of another route', path)
    }
    shapes.add(shape)
  }
  routeIds.add(id)
  return patterns.map((pattern) => ({
    route: { id, cost },
    pattern,
    methods,
    openness: pattern.tail ? 2 : isOpen(pattern) ? 1 : 0,
    variants: patterns.length,
  }))
}

/** Text that no path contains when it is matched: escapes, parameters, fragments, empty or dot segments, upper case. */
const UNMATCHABLE = /[%;#]|\/\/|\/\.\.?(\/|$)|\([^)]*[A-Z]/

const MUST_BE_PATTERN =
  'must start with "/"; ":id" is one segment, ":id?" one or none, ":id(\\d+)" or "(a|b)" one of such lower-case text, "{text}?" text or none, and "**" any depth; at most one ":id" or group per segment and one "**"; other signs with "\\", as in ":id\\-text"; no "%", ";", "#", "//" or dot segment'

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'QUERY']

/** Returns `methods` in upper case if it lists known methods, else throws. */
export function assertMethods(option: string, methods: unknown): string[] {
  const names = Array.isArray(methods) ? methods.map((name) => String(name).toUpperCase()) : []
  if (names.length > 0 && names.every((name) => METHODS.includes(name))) return names
  throw invalidOption(option, `must be a list of at least one of ${METHODS.join(', ')}`, methods)
}

/** @throws ConfigError Unless `cost` is a cost, a function that returns one, or left out. */
export function assertRouteCost(option: string, cost: unknown): void {
  if (cost === undefined || typeof cost === 'function') return
  const byUnit = typeof cost === 'object' && cost !== null && !Array.isArray(cost)
  const units: unknown[] = byUnit ? Object.values(cost) : [cost]
  if (units.every(isUnits)) return
  const message = `${MUST_BE_UNITS}, an object of such numbers by unit, or a function that returns either`
  throw invalidOption(option, message, cost)
}
