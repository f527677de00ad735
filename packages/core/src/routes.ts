import type { Cost } from './cost.ts'
import { addRoute, createRouter, findRoute, type RouterContext } from 'rou3'
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
  /** The methods it has. @default all */
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
  if (!Array.isArray(methods) || methods.length === 0) {
    throw new ConfigError('invalid_option', 'routes[].methods', 'must list at least one method')
  }
  for (const method of methods as readonly string[]) {
    addRoute(router, method.toUpperCase(), lowerCaseLiterals(path), { id, cost })
  }
}

/** A pattern's literal text in lower case; the names of its parameters as they are. */
function lowerCaseLiterals(path: string): string {
  return path.replace(
    /(^|\/)([^/:*({]+)/g,
    (_, slash: string, text: string) => slash + text.toLowerCase(),
  )
}

/**
 * One spelling for all spellings of a path: decoded (what is encoded twice, too; what cannot be
 * decoded stays as it is), in lower case, with single slashes, no trailing one, and no parameters
 * (`;x=1`) in its segments.
 */
function plainPath(pathname: string): string {
  return decoded(pathname)
    .toLowerCase()
    .replace(/;[^/]*/g, '')
    .replace(/[/\\]+/g, '/')
    .replace(/(.)\/$/, '$1')
}

function decoded(pathname: string): string {
  let path = pathname
  // Three layers are more than any proxy adds, and a bound on what a client can make us do.
  for (let layer = 0; layer < 3 && path.includes('%'); layer += 1) {
    path = path.replace(/(?:%[0-9a-f]{2})+/gi, (bytes) => {
      try {
        return decodeURIComponent(bytes)
      } catch {
        return bytes
      }
    })
  }
  return path
}
