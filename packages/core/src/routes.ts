import type { Cost } from './cost.ts'
import { addRoute, createRouter, findRoute, type RouterContext } from 'rou3'
import { isUnits, MUST_BE_UNITS } from './cost.ts'
import { ConfigError } from './errors.ts'
import { knownOptions } from './validate.ts'

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

interface Entry<Context extends unknown[]> {
  readonly route: Route<Context>
  /** How much of a path it leaves open: 0 nothing, 1 single segments, 2 the depth (`**`). */
  readonly openness: 0 | 1 | 2
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
  const router = createRouter<Entry<Context>>()
  const taken = new Set<string>()
  for (const [index, route] of (routes as readonly RouteInput<Context>[]).entries()) {
    add(router, taken, place(index), typeof route === 'string' ? { path: route } : route)
  }
  return (method, pathname) => {
    const readings = readingsOf(pathname)
    let found: Entry<Context> | undefined
    for (const path of new Set([...readings, ...readings.map(alias)])) {
      const entry = findRoute(router, method.toUpperCase(), path)?.data
      // Routers take `a%2Fb` for one segment. Where a route does, too, no other reading may put the
      // request on the budget, or at the cost, of another route.
      if (entry && path === readings[0] && entry.openness < 2) return entry.route
      if (entry && (found === undefined || entry.openness < found.openness)) found = entry
    }
    return found?.route
  }
}

function add<Context extends unknown[]>(
  router: RouterContext<Entry<Context>>,
  taken: Set<string>,
  where: string,
  options: RouteOptions<Context>,
): void {
  knownOptions(where, options, ['path', 'id', 'methods', 'cost'])
  const { path, id = path, methods, cost } = options
  if (typeof path !== 'string' || !path.startsWith('/') || UNMATCHABLE.test(path)) {
    throw new ConfigError('invalid_option', `${where}.path`, MUST_BE_PATTERN)
  }
  if (typeof id !== 'string' || id === '') {
    throw new ConfigError('invalid_option', `${where}.id`, 'must be a non-empty string')
  }
  const names = methods === undefined ? [''] : validMethods(`${where}.methods`, methods)
  validCost(`${where}.cost`, cost)
  // At the end, one `*` takes as much as two.
  const openness = /\*\*|\/\*$/.test(path) ? 2 : /[:*({]/.test(path) ? 1 : 0
  const pattern = lowerCaseLiterals(path)
  const shape = pattern.replace(/:\w+/g, ':').replace(/\/\*$/, '/**')
  // Where GET has a handler, HEAD runs it.
  for (const method of new Set(names.includes('GET') ? [...names, 'HEAD'] : names)) {
    if (taken.has(`${method} ${shape}`)) {
      throw new ConfigError('invalid_option', `${where}.path`, 'is that of another route already')
    }
    taken.add(`${method} ${shape}`)
    try {
      addRoute(router, method, pattern, { route: { id, cost }, openness })
    } catch {
      throw new ConfigError('invalid_option', `${where}.path`, MUST_BE_PATTERN)
    }
  }
}

/** What no path has any more when it is matched: escapes, parameters, empty and dot segments, upper case. */
const UNMATCHABLE = /[%;]|\/\/|\/\.\.?(\/|$)|\([^)]*[A-Z]/

const MUST_BE_PATTERN =
  'must be a pattern that can match: start with "/", with no "%", ";", "//" or dot segment in it, and no upper case in a group'

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

/** A pattern's literal text in lower case; escapes, groups and the names of parameters as they are. */
function lowerCaseLiterals(path: string): string {
  return path.replace(/\\.|:\w+|\([^)]*\)|[^\\:(]+/g, (part) =>
    /^[\\:(]/.test(part) ? part : part.toLowerCase(),
  )
}

/**
 * The ways to read a path, one spelling for each: in lower case, with single slashes, no trailing
 * one, and no parameters (`;x=1`) in its segments. Decoded (what is encoded twice, too; what cannot
 * be decoded stays as it is),
 *
 * 1. segment by segment, as routers do: an encoded slash does not part segments;
 * 2. as a whole, as proxies do, who then split what they have decoded;
 * 3. the same as part of a URL, as gateways read it that build one: `..`, `?` and `#` have a meaning.
 */
function readingsOf(pathname: string): string[] {
  const bySegment = pathname.split(SLASH).map(inOneSegment)
  if (!/[%;]/.test(pathname)) return [plainPath(bySegment)]
  const whole = decoded(pathname).replace(PARAMETERS, '').split(SLASH)
  return [plainPath(bySegment), plainPath(whole), plainPath(inUrl(whole))]
}

/** Decoded, but for the slashes in it; those at its end are as good as a trailing one. */
function inOneSegment(segment: string): string {
  return decoded(segment)
    .replace(/([^/\\])[/\\]+$/, '$1')
    .replace(SLASHES, '%2f')
}

const SLASH = /[/\\]/
const SLASHES = /[/\\]/g
const PARAMETERS = /;[^/\\]*/g

function plainPath(segments: readonly string[]): string {
  const plain = segments.map((segment) => encoded(withoutParameters(segment).toLowerCase()))
  return `/${plain.filter((segment) => segment !== '').join('/')}`
}

/** As the router keeps the literal text of its patterns. */
function encoded(text: string): string {
  // eslint-disable-next-line no-control-regex -- control characters are among what is encoded
  return text.toWellFormed().replace(/[\0- "#<>?^`{}\x7f-\uffff]+/g, encodeURIComponent)
}

/** A segment that is nothing but parameters stays: it is one that `:id` takes. */
function withoutParameters(segment: string): string {
  const at = segment.indexOf(';')
  return at > 0 ? segment.slice(0, at) : segment
}

/** The path of the URL that these segments make: without `..`, a query, or what a URL drops. */
function inUrl(segments: readonly string[]): string[] {
  return decoded(new URL(`http://host/${segments.join('/')}`).pathname).split(SLASH)
}

function decoded(pathname: string): string {
  let path = pathname
  // Three layers are more than any proxy adds, and a bound on what a client can make us do.
  for (let layer = 0; layer < 3 && path.includes('%'); layer += 1) {
    path = path.replace(/(?:%[0-9a-f]{2})+/gi, (bytes) => {
      try {
        return decodeURIComponent(bytes)
      } catch {
        // A router that decodes piece by piece reads the ASCII in it all the same.
        return bytes.replace(/%[0-7][\da-f]/gi, (escape) => decodeURIComponent(escape))
      }
    })
  }
  return path
}
