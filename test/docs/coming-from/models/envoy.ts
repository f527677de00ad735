/**
 * A model of Envoy's HTTP local rate limit filter. Its pages tell the options
 * (https://www.envoyproxy.io/docs/envoy/latest/configuration/http/http_filters/local_rate_limit_filter,
 * https://www.envoyproxy.io/docs/envoy/latest/api-v3/type/v3/token_bucket.proto), its source how the
 * bucket fills
 * (https://github.com/envoyproxy/envoy/blob/main/source/common/common/token_bucket_impl.cc,
 * https://github.com/envoyproxy/envoy/blob/main/source/extensions/filters/common/local_ratelimit/local_ratelimit_impl.cc).
 *
 * The bucket starts full. Since 1.31 it fills as time passes; before, a timer added `tokens_per_fill`
 * at the end of each `fill_interval`.
 */

interface EnvoyTokenBucket {
  readonly max_tokens: number
  readonly tokens_per_fill: number
  readonly fill_interval_ms: number
}

export interface EnvoyFilter {
  readonly token_bucket: EnvoyTokenBucket
  /** Percent of requests that take a token at all. @default 100 */
  readonly filter_enabled?: number
  /** Percent of requests without a token that are refused. @default 100 */
  readonly filter_enforced?: number
  /** Fills by a timer, as versions before 1.31 do. @default false */
  readonly timer?: boolean
}

export interface EnvoyAnswer {
  readonly allowed: boolean
  /** True if it was over the limit, refused or not: the counter `rate_limited`. */
  readonly limited: boolean
}

export class EnvoyLocalRateLimit {
  readonly #filter: Required<EnvoyFilter>
  readonly #draw: () => number
  readonly #start: number
  /** Tokens times the interval's milliseconds, so that every amount is whole. */
  #level: number
  #at: number

  /** @param draw A number from 0 up to, not including, 100, for each percentage of each request. */
  constructor(filter: EnvoyFilter, start: number, draw: () => number = () => 0) {
    this.#filter = { filter_enabled: 100, filter_enforced: 100, timer: false, ...filter }
    this.#draw = draw
    this.#start = this.#at = start
    this.#level = this.#capacity
  }

  request(now: number): EnvoyAnswer {
    const { filter_enabled, filter_enforced, token_bucket } = this.#filter
    if (this.#draw() >= filter_enabled) return { allowed: true, limited: false }
    this.#fill(now)
    if (this.#level >= token_bucket.fill_interval_ms) {
      this.#level -= token_bucket.fill_interval_ms
      return { allowed: true, limited: false }
    }
    return { allowed: this.#draw() >= filter_enforced, limited: true }
  }

  /** Whole tokens left, as in the header `x-ratelimit-remaining`. */
  remaining(now: number): number {
    this.#fill(now)
    return Math.floor(this.#level / this.#filter.token_bucket.fill_interval_ms)
  }

  #fill(now: number): void {
    const { tokens_per_fill, fill_interval_ms } = this.#filter.token_bucket
    const border = (time: number): number => time - ((time - this.#start) % fill_interval_ms)
    const elapsed = this.#filter.timer ? border(now) - border(this.#at) : now - this.#at
    this.#level = Math.min(this.#capacity, this.#level + elapsed * tokens_per_fill)
    this.#at = now
  }

  get #capacity(): number {
    const { max_tokens, fill_interval_ms } = this.#filter.token_bucket
    return max_tokens * fill_interval_ms
  }
}
