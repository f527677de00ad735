/** What a request to a model has used, whoever the provider is. */
export interface Usage {
  /** The model that answered, as the provider names it. */
  readonly model: string | undefined
  /** All input tokens, cached or not. */
  readonly input: number
  /** Those of `input` that were read from a cache. */
  readonly cachedInput: number
  /** Those of `input` that were written to a cache. */
  readonly cacheWrite: number
  /** Those of `cacheWrite` that are kept for longer at a higher price (an hour, with Anthropic). */
  readonly longCacheWrite: number
  /** All output tokens, those of reasoning included. */
  readonly output: number
  /**
   * `provider` when every number is the provider's own; `counted` when some had to be estimated from the
   * text that passed, in which hidden reasoning is missing.
   */
  readonly source: 'provider' | 'counted'
  /** Whether the answer came to its end; else the numbers are what is known to have been used by then. */
  readonly complete: boolean
}

/** Receives the usage of a request, once. What it returns is waited for if it is a promise. */
export type Settle = (usage: Usage) => unknown
