import { MAX_UNITS } from '@sluice/core/validation'
import type { ReportedUsage } from '../formats/format.ts'
import { isClaude } from '../model-name.ts'
import { combined, NO_NUMBERS, units, type Numbers } from '../formats/provider-usage.ts'
import { CLAUDE_FACTOR, tokenCounter, type TokenCounter } from '../estimate/tokens.ts'
import type { Usage } from '../usage.ts'

/** Facts that a meter knows without the answer. */
export interface Known {
  /** The model, where the answer does not name it. */
  readonly model?: string | undefined
  /** Input tokens, where the provider does not tell them; `estimateRequest(body).input`, say. */
  readonly inputTokens?: number | undefined
  /** Counts the tokens of a text that passes. @default an estimate, as `estimateTokens` */
  readonly count?: ((text: string) => number) | undefined
}

/** Gathers what is known of the usage of one request while its answer passes. */
export class Tally {
  model: string | undefined
  /** True if anything of a known format has passed. */
  isUnderstood = false
  /** True if the answer has ended; later input changes nothing. */
  ended = false
  /** True if more has passed than the usage counts. */
  hasMore = false
  readonly #known: Known
  readonly #said: TokenCounter
  readonly #raw: TokenCounter
  #counted = 0
  #reported: ReportedUsage & Numbers = NO_NUMBERS
  #isTold = false
  #isFinal = false

  constructor(known: Known) {
    this.#known = known
    this.#said = counterFor(known)
    this.#raw = counterFor(known)
  }

  /** Text that the model has produced. */
  said(text: unknown): void {
    if (typeof text === 'string' && text !== '') this.#said.add(text)
  }

  /** Text of which nothing is known: it counts as it is, beside what is known to be said. */
  raw(text: string): void {
    this.#raw.add(text)
  }

  /** Tokens that were counted apart, with `counter`. */
  counted(tokens: number): void {
    this.#counted += tokens
  }

  /** Creates a counter with the same rules, for text that may later be discarded. */
  counter(): TokenCounter {
    return counterFor(this.#known)
  }

  named(model: unknown): void {
    if (typeof model === 'string' && model !== '') this.model = model
  }

  /** True if the provider has told the usage of the whole answer. */
  get isFinal(): boolean {
    return this.#isTold && this.#isFinal
  }

  /**
   * A usage. Where several come, they are cumulative. One without a number for the output is none.
   *
   * @param isFinal Whether its output is that of the answer, and not of its first token.
   */
  reported(usage: ReportedUsage | undefined, isFinal: boolean = usage?.output !== undefined): void {
    this.#isFinal ||= isFinal
    if (usage === undefined) return
    const numbers = combined(this.#reported, usage, Math.max)
    this.#reported = { ...this.#reported, ...usage, ...numbers }
    // One of zeros comes before the answer, or is none.
    this.#isTold ||= usage.output !== undefined && numbers.input + numbers.output > 0
    this.isUnderstood = true
  }

  /** @param closed Whether the stream was closed by its source. */
  usage(closed: boolean): Usage {
    const model = this.model ?? this.#known.model
    const factor = isClaude(model) && this.#known.count === undefined ? CLAUDE_FACTOR : 1
    const said = this.#said.tokens
    const counted = Math.ceil((said + this.#raw.tokens + this.#counted) * factor)
    const { input, output } = this.#reported
    // No output is to be believed of embeddings, say, but not of an answer.
    const isBlank = output === 0 && (said > 0 || (input === 0 && counted > 0))
    const complete = this.isFinal && (this.ended || closed) && !this.hasMore && !isBlank
    return {
      model,
      ...this.#reported,
      input: input || (this.#known.inputTokens ?? 0),
      output: Math.min(MAX_UNITS, complete ? output : Math.max(output, counted)),
      source: complete && input > 0 ? 'provider' : 'counted',
      complete,
    }
  }
}

function counterFor({ count }: Known): TokenCounter {
  if (count === undefined) return tokenCounter()
  let tokens = 0
  return {
    add: (text) => {
      tokens += units(count(text))
    },
    get tokens() {
      return tokens
    },
  }
}
