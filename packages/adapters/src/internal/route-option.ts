import { ConfigError } from '@sluice/core'
import type { GuardOptions } from '@sluice/core/http'
import { assertOptions } from '@sluice/core/validation'

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
  if (route === undefined || (typeof route === 'string' && route !== '')) {
    return { route, guardOptions }
  }
  throw new ConfigError('invalid_option', 'route', 'must be a non-empty string')
}
