/**
 * A model of Kong's `rate-limiting` plugin. Its page tells the windows, headers and bodies
 * (https://developer.konghq.com/plugins/rate-limiting/), its source the rest
 * (https://github.com/Kong/kong/blob/master/kong/plugins/rate-limiting/handler.lua).
 *
 * Each period has a counter for each window of the clock, UTC. A request is refused when a counter has
 * reached its limit, and counted in none of them then; else in all.
 */

/** Seconds that the plugin takes each period to have. */
const SECONDS = { second: 1, minute: 60, hour: 3600, day: 86_400 }

type Period = keyof typeof SECONDS

export interface KongConfig extends Partial<Record<Period, number>> {
  /** @default true */
  readonly fault_tolerant?: boolean
  /** @default false */
  readonly hide_client_headers?: boolean
  /** @default 429 */
  readonly error_code?: number
  /** @default 'API rate limit exceeded' */
  readonly error_message?: string
}

export interface KongAnswer {
  readonly status: number
  /** Lower case. */
  readonly headers: Readonly<Record<string, string>>
  /** Of an answer of Kong's own. */
  readonly body?: { readonly message: string }
}

interface Usage {
  readonly period: Period
  readonly limit: number
  readonly remaining: number
  /** Seconds to the window's end. */
  readonly reset: number
}

export class KongRateLimiting {
  /** True if the data store does not answer. */
  down = false
  readonly #config: KongConfig
  readonly #counters = new Map<string, number>()

  constructor(config: KongConfig) {
    this.#config = config
  }

  request(identifier: string, now: number): KongAnswer {
    const { fault_tolerant = true, hide_client_headers = false } = this.#config
    if (this.down) {
      return fault_tolerant
        ? { status: 200, headers: {} }
        : { status: 500, headers: {}, body: { message: 'An unexpected error occurred' } }
    }
    const second = Math.floor(now / 1000)
    const usages = this.#usages(identifier, second)
    const stop = usages.some(({ remaining }) => remaining <= 0)
    if (!stop) for (const { period } of usages) this.#count(key(identifier, period, second))
    const headers = hide_client_headers ? {} : headersOf(usages, stop)
    if (!stop) return { status: 200, headers }
    const { error_code: status = 429, error_message = 'API rate limit exceeded' } = this.#config
    const reset = headers['ratelimit-reset']
    return {
      status,
      headers: reset === undefined ? headers : { ...headers, 'retry-after': reset },
      body: { message: error_message },
    }
  }

  #usages(identifier: string, second: number): Usage[] {
    return (Object.keys(SECONDS) as Period[]).flatMap((period) => {
      const limit = this.#config[period]
      if (limit === undefined) return []
      const used = this.#counters.get(key(identifier, period, second)) ?? 0
      const reset = SECONDS[period] - (second % SECONDS[period])
      return [{ period, limit, remaining: limit - used, reset }]
    })
  }

  #count(counter: string): void {
    this.#counters.set(counter, (this.#counters.get(counter) ?? 0) + 1)
  }
}

function key(identifier: string, period: Period, second: number): string {
  return `${identifier}:${period}:${Math.floor(second / SECONDS[period])}`
}

/** Two for each period, and three for the one with the least left; of equals, the longest. */
function headersOf(usages: readonly Usage[], stop: boolean): Record<string, string> {
  const headers: Record<string, string> = {}
  let fewest = Infinity
  for (const { period, limit, remaining, reset } of usages) {
    // A refused request is taken off no period that has some left.
    const left = Math.max(0, remaining - (stop ? 0 : 1))
    headers[`x-ratelimit-limit-${period}`] = String(limit)
    headers[`x-ratelimit-remaining-${period}`] = String(left)
    if (left > fewest) continue
    fewest = left
    headers['ratelimit-limit'] = String(limit)
    headers['ratelimit-remaining'] = String(left)
    headers['ratelimit-reset'] = String(reset)
  }
  return headers
}
