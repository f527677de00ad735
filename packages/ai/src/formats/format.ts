import { optionRule, type OptionRule } from '@sluice/core/internal'
import type { Usage } from '../usage.ts'

/** Tokens as a provider reports them, without the numbers that it does not report. */
export type ReportedUsage = Partial<Omit<Usage, 'model' | 'source' | 'complete'>>

/** The content of one event of a stream, or of a whole answer in JSON. */
export interface AnswerEvent {
  /** The model that answers. */
  readonly model?: unknown
  /** The output of the model: a text, or lists and objects that contain texts. */
  readonly text?: unknown
  /** The usage of the answer up to this event. */
  readonly usage?: ReportedUsage | undefined
  /**
   * True if the output is complete: then a usage beside it, before it or after it is that of the whole answer.
   *
   * @default true if `usage` has an `output`
   */
  readonly isFinal?: boolean | undefined
  /** True if nothing comes after this event. */
  readonly isLast?: boolean
}

/**
 * Returns the bytes of a chunk as text of JSON values, or, without a chunk, what is left at the end. Text at
 * the end that is no complete value shows that the answer was cut off.
 */
export type AnswerDecoder = (chunk?: Uint8Array) => string

/** A format of answers, for the option `formats`. It keeps no state: one object serves all answers. */
export interface UsageFormat {
  /** Returns the content of an event, or `undefined` if the event has another format. */
  readonly read: (event: Readonly<Record<string, unknown>>) => AnswerEvent | undefined
  /**
   * The members that `read` needs of an event that is too long to keep: paths from its root, such as
   * `result.usage`, with `*` for the items of a list. `usage`, `model` and `type` need not be listed.
   */
  readonly fields?: readonly string[]
  /** Returns a decoder for answers that begin with this byte, if they are not text. */
  readonly decoder?: (firstByte: number) => AnswerDecoder | undefined
}

/** A rule that allows lists of formats. */
export const assertFormats: OptionRule = /* @__PURE__ */ optionRule(
  (formats) =>
    Array.isArray(formats) &&
    formats.every((format: Partial<UsageFormat> | null) => typeof format?.read === 'function'),
  'a list of formats',
)
