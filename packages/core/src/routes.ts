import type { Cost } from './cost.ts'
import { addRoute, createRouter, findRoute, type RouterContext } from 'rou3'
import { isUnits, MUST_BE_UNITS } from './cost.ts'
import { ConfigError } from './errors.ts'
import { knownOptions } from './validate.ts'

/** A route to limit: a path pattern, or a pattern with options. */
export type RouteInput = string | RouteOptions

/** A route to limit. */
export interface RouteOptions {
  /** A path pattern: `/api/ai/evaluate`, `/api/models/:model`, `/api/ai/**`. */
  readonly path: string
  /** What requests to it are counted as (`subject.route`). @default the pattern */
  readonly id?: string
  /** The methods it has; `GET` stands for `HEAD` too, which runs the same handler. @default all */
  readonly methods?: readonly string[]
  /** What a request to it costs. @default 1 request */
  readonly cost?: Cost
}

/** A route as matched. */
export interface Route {
  readonly id: string
  readonly cost: Cost | undefined
}

/** Finds the route of a request, or `undefined` if it is not to be limited. */
export type RouteMatcher = (method: string, pathname: string) => Route | undefined

/**
 * Compiles routes. Requests are counted by the id of the route, never by their path, so that no
 * spelling of a path gets a budget of its own.
 *
 * @throws ConfigError When a route is malformed.
 */
export function compileRoutes(routes: readonly RouteInput[]): RouteMatcher {
  if (!Array.isArray(routes) || routes.length === 0) {
    throw new ConfigError('invalid_option', 'routes', 'must be a list of at least one route')
  }
  const router = createRouter<Route>()
  for (const route of routes as readonly RouteInput[]) {
    add(router, typeof route === 'string' ? { path: route } : route)
  }
  return (method, pathname) => findRoute(router, method.toUpperCase(), plainPath(pathname))?.data
}

function add(router: RouterContext<Route>, options: RouteOptions): void {
  knownOptions('routes[]', options, ['path', 'id', 'methods', 'cost'])
  const { path, id = path, methods = [''], cost } = options
  if (typeof path !== 'string' || !path.startsWith('/')) {
    throw new ConfigError('invalid_option', 'routes[].path', 'must start with "/"')
  }
  if (typeof id !== 'string' || id === '') {
    throw new ConfigError('invalid_option', 'routes[].id', 'must be a non-empty string')
  }
  if (!Array.isArray(methods) || methods.length === 0 || !methods.every(isText)) {
    throw new ConfigError('invalid_option', 'routes[].methods', 'must list at least one method')
  }
  const units = typeof cost === 'object' && cost !== null ? Object.values(cost) : [cost ?? 1]
  if (!units.every(isUnits)) throw new ConfigError('invalid_option', 'routes[].cost', MUST_BE_UNITS)
  const names = methods.map((method: string) => method.toUpperCase())
  if (names.includes('GET')) names.push('HEAD')
  for (const method of new Set(names)) {
    try {
      addRoute(router, method, lowerCaseLiterals(path), { id, cost })
    } catch {
      throw new ConfigError('invalid_option', 'routes[].path', 'is no pattern that can be matched')
    }
  }
}

const isText = (value: unknown): value is string => typeof value === 'string'

/** A pattern's literal text in lower case; the names of its parameters as they are. */
function lowerCaseLiterals(path: string): string {
  return path.replace(
    /(^|\/)([^/:*({]+)/g,
    (_, slash: string, text: string) => slash + text.toLowerCase(),
  )
}

/**
 * One spelling for all spellings of a path: decoded, in lower case, with single slashes, no trailing
 * one, and no parameters (`;x=1`) in its segments.
 */
function plainPath(pathname: string): string {
  let path = pathname
  try {
    path = decodeURIComponent(pathname)
  } catch {
    // A router that decodes piece by piece reads the ASCII in it all the same.
    path = pathname.replace(/%[0-7][\da-f]/gi, (escape) => decodeURIComponent(escape))
  }
  return path
    .toLowerCase()
    .replace(/;[^/]*/g, '')
    .replace(/\/{2,}/g, '/')
    .replace(/(.)\/$/, '$1')
}
