import type { GuardOptions } from '@sluice/core/http'
import { assertOptions, invalidOption } from '@sluice/core/internal'

/** Options of an adapter whose framework knows the route of a request. */
export interface RouteLimitOptions<Context extends unknown[]> extends GuardOptions<Context> {
  /**
   * The id that requests are counted under (`subject.route`). @default the route that the framework matched
   */
  readonly route?: string | undefined
}

/** Takes the route from the options of an adapter. @throws ConfigError When it is malformed. */
export function splitRoute<Context extends unknown[]>(
  options: RouteLimitOptions<Context>,
): { readonly route: string | undefined; readonly guardOptions: GuardOptions<Context> } {
  assertOptions('rateLimit', options)
  const { route, ...guardOptions } = options
  if (route !== undefined) assertRouteId('route', route)
  return { route, guardOptions }
}

/** Throws a `ConfigError` unless `id` is a non-empty string. */
export function assertRouteId(option: string, id: unknown): void {
  if (typeof id === 'string' && id !== '') return
  throw invalidOption(option, 'must be a non-empty string')
}
