import { compileRoutes, type GuardOptions, type Route, type RouteInput } from '@sluice/core/http'
import { assertOptions } from '@sluice/core/internal'

/** Options of an adapter whose middleware may run for every request of an app. */
export interface RoutesLimitOptions<Context extends unknown[]> extends GuardOptions<Context> {
  /**
   * The routes to limit, by path; requests to others pass. A request is counted by the id that its route
   * has here: the path, unless you give an `id`.
   *
   * @default every request that the middleware runs for, counted by the route that the framework matched
   */
  readonly routes?: readonly RouteInput<Context>[] | undefined
}

/** Finds the route of a request, or `undefined` if it is not to be limited. */
export type FindRoute<Context extends unknown[]> = (
  request: Request,
  matched: string,
) => Route<Context> | undefined

/** Takes the routes from the options of an adapter. @throws ConfigError When they are malformed. */
export function splitRoutes<Context extends unknown[]>(
  options: RoutesLimitOptions<Context>,
): { readonly findRoute: FindRoute<Context>; readonly guardOptions: GuardOptions<Context> } {
  assertOptions('rateLimit', options)
  const { routes, ...guardOptions } = options
  const match = routes && compileRoutes(routes)
  return {
    guardOptions,
    findRoute: (request, matched) =>
      match
        ? match(request.method, new URL(request.url).pathname)
        : { id: matched, cost: undefined },
  }
}
