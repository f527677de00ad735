/** The tokens that a model used. */
export interface ModelUsage {
  /** The model, as the provider names it. */
  readonly model: string
  /** All input tokens, cached or not. */
  readonly input: number
  /** The part of `input` that was read from a cache. */
  readonly cachedInput: number
  /** The part of `input` that was written to a cache. */
  readonly cacheWrite: number
  /** The part of `cacheWrite` that is kept for longer at a higher price (an hour, with Anthropic). */
  readonly longCacheWrite: number
  /** All output tokens, those of reasoning included. */
  readonly output: number
}

/** The tokens that a request to a model used, in one form for all providers. */
export interface Usage extends Omit<ModelUsage, 'model'> {
  /** The model that answered, as the provider names it. */
  readonly model: string | undefined
  /** The parts of these numbers that other models used, as Anthropic's advisor does. */
  readonly otherModels?: readonly ModelUsage[]
  /** The service tier, as the provider names it, if it does; `fast` for Anthropic's fast mode. */
  readonly tier?: string | undefined
  /** The part of `output` that was reasoning. Read by the format `reasoningTokens` and by formats of other vendors. */
  readonly reasoning?: number
  /**
   * True if the answer has reached its maximum of output, by which it was cut. That of a model that thinks may have no text
   * then. Set in `onUsage` of a limited call, and in the event `cutAnswer`.
   */
  readonly isCut?: boolean
  /** Micro-dollars that the provider says the request cost, if it says so (OpenRouter, Perplexity). */
  readonly cost?: number
  /**
   * `provider` when every number is the provider's own; `counted` when some had to be estimated from the
   * text that passed, in which hidden reasoning is missing.
   */
  readonly source: 'provider' | 'counted'
  /**
   * True if the provider has reported the usage of the whole answer. If not, the answer broke off, or its
   * provider reports no usage: the numbers are at least what passed.
   */
  readonly complete: boolean
}

/** Receives the usage of a request, once. A promise that it returns is waited for. */
export type Settle = (usage: Usage) => unknown
