import { MAX_UNITS } from '../validate.ts'
import { isClaude } from './model-name.ts'
import { CLAUDE_FACTOR, tokenCounter, type TokenCounter } from './tokens.ts'
import type { Usage } from './usage.ts'

/** What a meter knows without the answer. */
export interface Known {
  /** The model, where the answer does not name it. */
  readonly model?: string
  /** Input tokens, where the provider does not tell them; `estimateRequest(body).input`, say. */
  readonly inputTokens?: number
  /** Counts the tokens of a text that passes. @default an estimate, as `estimateTokens` */
  readonly count?: (text: string) => number
}

type Json = Readonly<Record<string, unknown>>

/** Gathers what is known of the usage of one request while its answer passes. */
export class Tally {
  model: string | undefined
  readonly #known: Known
  readonly #said: TokenCounter
  readonly #raw: TokenCounter
  #piece: TokenCounter | undefined
  #pieces = 0
  #reported = { input: 0, cachedInput: 0, cacheWrite: 0, longCacheWrite: 0, output: 0 }
  #hasInput = false
  /** Whether what the provider has reported is all there is to the answer. */
  #final = false
  #understood = false
  #ended = false

  constructor(known: Known) {
    this.#known = known
    this.#said = counterFor(known)
    this.#raw = counterFor(known)
  }

  /** Text that the model has produced. */
  said(text: unknown): void {
    if (typeof text === 'string' && text !== '') this.#said.add(text)
  }

  /** A part of an answer that is too long to be kept; whether the model said it comes out at its end. */
  piece(text: string): void {
    this.#piece ??= counterFor(this.#known)
    this.#piece.add(text)
  }

  pieceEnd(isSaid: boolean): void {
    if (isSaid) this.#pieces += this.#piece?.tokens ?? 0
    this.#piece = undefined
    this.#understood = true
  }

  /** Bytes of an answer, for one that turns out not to tell more. */
  raw(text: string): void {
    this.#raw.add(text)
  }

  named(model: unknown): void {
    if (typeof model === 'string' && model !== '') this.model = model
  }

  /** Something of a known format has passed. */
  understood(): void {
    this.#understood = true
  }

  /** The answer has come to its end; what follows changes nothing. */
  end(): void {
    this.#ended = true
  }

  get ended(): boolean {
    return this.#ended
  }

  /** Whether the provider has told the usage of the whole answer. */
  get final(): boolean {
    return this.#final
  }

  /**
   * A usage as OpenAI, Anthropic and those like them write it. Where several come, they are cumulative.
   *
   * @param final Whether its output is that of the answer, and not of its first token.
   */
  reported(usage: unknown, final: boolean): void {
    if (!isObject(usage)) return
    const { prompt_tokens: prompt, completion_tokens: completion, total_tokens: total } = usage
    const write = units(usage['cache_creation_input_tokens'])
    const read = units(usage['cache_read_input_tokens'])
    const details = objectOf(usage['prompt_tokens_details'] ?? usage['input_tokens_details'])
    const detailsOfWrite = objectOf(details['cache_write_tokens_details'])
    // Anthropic's input tokens are those beside its cache.
    const input = units(prompt ?? usage['input_tokens']) + write + read
    const output = units(completion ?? usage['output_tokens'])
    const next = {
      input,
      cachedInput: read || units(details['cached_tokens']),
      cacheWrite: write || units(details['cache_write_tokens']),
      longCacheWrite:
        units(objectOf(usage['cache_creation'])['ephemeral_1h_input_tokens']) ||
        units(detailsOfWrite['ttl_12h_tokens']),
      // Some providers tell reasoning only in the total.
      output: Math.max(output, units(total) - input),
    }
    const known = this.#reported
    this.#reported = {
      input: Math.max(known.input, next.input),
      cachedInput: Math.max(known.cachedInput, next.cachedInput),
      cacheWrite: Math.max(known.cacheWrite, next.cacheWrite),
      longCacheWrite: Math.max(known.longCacheWrite, next.longCacheWrite),
      output: Math.max(known.output, next.output),
    }
    this.#hasInput ||= typeof (prompt ?? usage['input_tokens']) === 'number'
    this.#final ||= final
    this.#understood = true
  }

  /** @param closed Whether the stream was closed by its source. */
  usage(closed: boolean): Usage {
    const model = this.model ?? this.#known.model
    const complete = this.#ended || (closed && this.#final)
    const tokens = this.#understood ? this.#said.tokens + this.#pieces : this.#raw.tokens
    const factor = isClaude(model) && this.#known.count === undefined ? CLAUDE_FACTOR : 1
    const counted = Math.ceil(tokens * factor)
    const trusted = this.#final && complete
    const { output, ...reported } = this.#reported
    return {
      model,
      ...reported,
      ...(!this.#hasInput && { input: this.#known.inputTokens ?? 0 }),
      output: Math.min(MAX_UNITS, trusted ? output : Math.max(output, counted)),
      source: trusted && this.#hasInput ? 'provider' : 'counted',
      complete,
    }
  }
}

function counterFor({ count }: Known): TokenCounter {
  if (count === undefined) return tokenCounter()
  let tokens = 0
  return {
    add: (text) => {
      tokens += units(Math.ceil(count(text)))
    },
    get tokens() {
      return tokens
    },
  }
}

/** A number of tokens; what is none counts as 0. */
function units(value: unknown): number {
  return typeof value === 'number' && value > 0 ? Math.min(MAX_UNITS, Math.ceil(value)) : 0
}

function objectOf(value: unknown): Json {
  return isObject(value) ? value : {}
}

export function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
