import type { Cost } from '../cost.ts'
import { ConfigError } from '../errors.ts'
import { assertKnownOptions, isUnits, MUST_BE_UNITS } from '../internal/validation.ts'
import { bySpecificity, compilePattern, isOpen, matches, shapeOf, type Pattern } from './pattern.ts'
import { readingsOf } from './readings.ts'

/** A route to limit: a path pattern, or a pattern with options. */
export type RouteInput<Context extends unknown[] = []> = string | RouteOptions<Context>

/**
 * What a request costs: units, or a function that finds them out. One that reads the body must clone
 * the request, which the handler reads after it. What it throws is not caught.
 *
 * @example
 * const cost: RouteCost = async (request) => {
 *   const { max_tokens } = await request.clone().json()
 *   return { token: Number.isInteger(max_tokens) ? Math.min(max_tokens, 4_096) : 4_096 }
 * }
 */
export type RouteCost<Context extends unknown[] = []> =
  Cost | ((request: Request, ...context: Context) => Cost | Promise<Cost>)

/** A route to limit. */
export interface RouteOptions<Context extends unknown[] = []> {
  /** A path pattern: `/api/ai/evaluate`, `/api/models/:model`, `/api/ai/**`. */
  readonly path: string
  /** What requests to it are counted as (`subject.route`). @default the pattern */
  readonly id?: string
  /** The methods it has; `GET` stands for `HEAD` too, which runs the same handler. @default all */
  readonly methods?: readonly string[]
  /** What a request to it costs. @default the adapter's own `cost`, else 1 request */
  readonly cost?: RouteCost<Context>
}

/** A route as matched. */
export interface Route<Context extends unknown[] = []> {
  readonly id: string
  readonly cost: RouteCost<Context> | undefined
}

/** Finds the route of a request, or `undefined` if it is not to be limited. */
export type RouteMatcher<Context extends unknown[] = []> = (
  method: string,
  pathname: string,
) => Route<Context> | undefined

/** The longest path that is read, in characters. Platforms take no longer one: most stop at 16 KB. */
const MAX_PATH_LENGTH = 16_384

/** The route of a path that is longer: requests to it are refused. */
export const TOO_LONG: Route<unknown[]> = { id: 'too-long', cost: undefined }

interface Entry<Context extends unknown[]> {
  readonly route: Route<Context>
  readonly pattern: Pattern
  /** The methods it has; `undefined` for all. */
  readonly methods: readonly string[] | undefined
  /** How much of a path it leaves open: 0 nothing, 1 single segments, 2 the depth (`**`). */
  readonly openness: 0 | 1 | 2
  /** Patterns that came of the route's: more than one with optional segments. */
  readonly forms: number
}

/**
 * Compiles routes. Requests are counted by the id of the route, never by their path, so that no
 * spelling of a path gets a budget of its own. Where a path can be read in several ways, whoever
 * serves it may read it in any: it is limited if one of them matches, as the route of a fixed depth
 * that routers see in it, else as the most specific.
 *
 * @param alias A further path that a path stands for on the platform, if there is one.
 * @param place How an error names the route with an index. @default 'routes[]'
 * @throws ConfigError When a route is malformed.
 */
export function compileRoutes<Context extends unknown[] = []>(
  routes: readonly RouteInput<Context>[],
  alias: (path: string) => string = (path) => path,
  place: (index: number) => string = () => 'routes[]',
): RouteMatcher<Context> {
  if (!Array.isArray(routes) || routes.length === 0) {
    throw new ConfigError('invalid_option', 'routes', 'must be a list of at least one route')
  }
  const taken = new Set<string>()
  const entries = (routes as readonly RouteInput<Context>[])
    .flatMap((route, index) =>
      entriesOf(taken, place(index), typeof route === 'string' ? { path: route } : route),
    )
    .toSorted(
      (a, b) =>
        bySpecificity(a.pattern, b.pattern) ||
        Number(!a.methods) - Number(!b.methods) ||
        a.forms - b.forms,
    )
  return (method, pathname) => {
    if (pathname.length > MAX_PATH_LENGTH) return TOO_LONG
    const name = method.toUpperCase()
    const readings = readingsOf(pathname)
    let found: Entry<Context> | undefined
    for (const path of new Set([...readings, ...readings.map(alias)])) {
      const segments = path.split('/').filter((segment) => segment !== '')
      const entry = entries.find(
        ({ methods, pattern }) =>
          (methods === undefined || methods.includes(name)) && matches(pattern, segments),
      )
      // Routers take `a%2Fb` for one segment. Where a route does, too, no other reading may put the
      // request on the budget, or at the cost, of another route.
      if (entry && path === readings[0] && entry.openness < 2) return entry.route
      if (entry && (found === undefined || entry.openness < found.openness)) found = entry
    }
    return found?.route
  }
}

function entriesOf<Context extends unknown[]>(
  taken: Set<string>,
  where: string,
  options: RouteOptions<Context>,
): Entry<Context>[] {
  assertKnownOptions(where, options, ['path', 'id', 'methods', 'cost'])
  const { path, id = path, cost } = options
  const isText = typeof path === 'string' && path.startsWith('/') && !UNMATCHABLE.test(path)
  const patterns = isText ? compilePattern(path) : undefined
  if (patterns === undefined) {
    throw new ConfigError('invalid_option', `${where}.path`, MUST_BE_PATTERN)
  }
  if (typeof id !== 'string' || id === '') {
    throw new ConfigError('invalid_option', `${where}.id`, 'must be a non-empty string')
  }
  const named =
    options.methods === undefined ? undefined : validMethods(`${where}.methods`, options.methods)
  validCost(`${where}.cost`, cost)
  // Where GET has a handler, HEAD runs it.
  const methods = named?.includes('GET') ? [...new Set([...named, 'HEAD'])] : named
  for (const method of new Set(methods ?? [''])) {
    const shape = `${method} ${shapeOf(patterns)}`
    if (taken.has(shape)) {
      throw new ConfigError('invalid_option', `${where}.path`, 'is that of another route already')
    }
    taken.add(shape)
  }
  return patterns.map((pattern) => ({
    route: { id, cost },
    pattern,
    methods,
    openness: pattern.tail ? 2 : isOpen(pattern) ? 1 : 0,
    forms: patterns.length,
  }))
}

/** What no path has any more when it is matched: escapes, parameters, empty and dot segments, upper case. */
const UNMATCHABLE = /[%;]|\/\/|\/\.\.?(\/|$)|\([^)]*[A-Z]/

const MUST_BE_PATTERN =
  'must be a pattern that can match: start with "/", with no "%", ";", "//" or dot segment in it, no upper case in a group, at most one "**", and one ":name" or "*" in a segment'

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'QUERY']

/** Returns `methods` in upper case if they are some, else throws. */
export function validMethods(option: string, methods: unknown): string[] {
  const names = Array.isArray(methods) ? methods.map((name) => String(name).toUpperCase()) : []
  if (names.length > 0 && names.every((name) => METHODS.includes(name))) return names
  const message = `must list at least one of ${METHODS.join(', ')}`
  throw new ConfigError('invalid_option', option, message)
}

/** @throws ConfigError Unless `cost` is a cost, a function that returns one, or left out. */
export function validCost(option: string, cost: unknown): void {
  if (cost === undefined || typeof cost === 'function') return
  const byUnit = typeof cost === 'object' && cost !== null && !Array.isArray(cost)
  const units: unknown[] = byUnit ? Object.values(cost) : [cost]
  if (units.every(isUnits)) return
  const message = `${MUST_BE_UNITS}, an object of such numbers by unit, or a function that returns one of these`
  throw new ConfigError('invalid_option', option, message)
}
