import { MAX_UNITS } from '@sluice/core/internal'
import type { ReportedUsage } from '../formats/format.ts'
import { isClaude } from '../model-name.ts'
import { combineNumbers, NO_NUMBERS, units, type Numbers } from '../formats/provider-usage.ts'
import { CLAUDE_FACTOR, tokenCounter, type TokenCounter } from '../estimate/tokens.ts'
import type { Usage } from '../usage.ts'

/** Facts about an answer that a meter has in advance. */
export interface AnswerFacts {
  /** The model, where the answer does not name it. */
  readonly model?: string | undefined
  /** Input tokens if the provider does not report them, such as `estimateRequest(body).input`. */
  readonly inputTokens?: number | undefined
  /** Counts the tokens of a text that passes. @default an estimate, as `estimateTokens` */
  readonly count?: ((text: string) => number) | undefined
}

/** Adds up the usage of one request while its answer passes. */
export class UsageAccumulator {
  model: string | undefined
  /** True if anything of a known format has passed. */
  isKnown = false
  /** True if the answer has ended; later input changes nothing. */
  ended = false
  /** True if more has passed than the usage counts. */
  hasMore = false
  readonly #facts: AnswerFacts
  readonly #output: TokenCounter
  readonly #unparsed: TokenCounter
  #countedTokens = 0
  #reportedUsage: ReportedUsage & Numbers = NO_NUMBERS
  #isReported = false
  #isFinal = false

  constructor(facts: AnswerFacts) {
    this.#facts = facts
    this.#output = counterFor(facts)
    this.#unparsed = counterFor(facts)
  }

  /** Adds text that the model has produced. */
  addOutput(text: unknown): void {
    if (typeof text === 'string' && text !== '') this.#output.add(text)
  }

  /** Adds text in an unknown format, which counts as it is. */
  addUnparsed(text: string): void {
    this.#unparsed.add(text)
  }

  /** Adds tokens that `counter` has counted. */
  addTokens(tokens: number): void {
    this.#countedTokens += tokens
  }

  /** Creates a counter with the same rules, for text that may later be discarded. */
  counter(): TokenCounter {
    return counterFor(this.#facts)
  }

  /** Sets the model that the answer names. */
  setModel(model: unknown): void {
    if (typeof model === 'string' && model !== '') this.model = model
  }

  /** True if the provider has reported the usage of the whole answer. */
  get isFinal(): boolean {
    return this.#isReported && this.#isFinal
  }

  /**
   * Adds a report of the provider's. Reports are cumulative. One without an output count is not the final one.
   *
   * @param isFinal True if its output is that of the answer, and not of its first token.
   */
  addReport(
    usage: ReportedUsage | undefined,
    isFinal: boolean = usage?.output !== undefined,
  ): void {
    this.#isFinal ||= isFinal
    if (usage === undefined) return
    const numbers = combineNumbers(this.#reportedUsage, usage, Math.max)
    this.#reportedUsage = { ...this.#reportedUsage, ...usage, ...numbers }
    // A report of zeros comes before the answer, or reports nothing.
    this.#isReported ||= usage.output !== undefined && numbers.input + numbers.output > 0
    this.isKnown = true
  }

  /** Returns the usage. @param closed True if the source has closed the stream. */
  usage(closed: boolean): Usage {
    const model = this.model ?? this.#facts.model
    const factor = isClaude(model) && this.#facts.count === undefined ? CLAUDE_FACTOR : 1
    const written = this.#output.tokens
    const counted = Math.ceil((written + this.#unparsed.tokens + this.#countedTokens) * factor)
    const { input, output } = this.#reportedUsage
    // Embeddings have no output. An answer has some.
    const isBlank = output === 0 && (written > 0 || (input === 0 && counted > 0))
    const complete = this.isFinal && (this.ended || closed) && !this.hasMore && !isBlank
    return {
      model,
      ...this.#reportedUsage,
      input: input || (this.#facts.inputTokens ?? 0),
      output: Math.min(MAX_UNITS, complete ? output : Math.max(output, counted)),
      source: complete && input > 0 ? 'provider' : 'counted',
      complete,
    }
  }
}

function counterFor({ count }: AnswerFacts): TokenCounter {
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
