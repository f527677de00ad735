/** An answer of the stand-in, and the tokens that it used. */
export interface StandInAnswer {
  readonly model: string
  readonly words: readonly string[]
  readonly input: number
  readonly output: number
  /** True if the maximum of output tokens has cut the text. */
  readonly isCut: boolean
}

/** Writes an answer as JSON, and as the events of a stream. */
export interface Format {
  json(answer: StandInAnswer): object
  events(answer: StandInAnswer): string[]
}

/** Writes an event without a name, as OpenAI's chats have it. */
export const data = (value: object): string => `data: ${JSON.stringify(value)}\n\n`

/** Writes an event by its type. */
export const event = (type: string, rest: object): string =>
  `event: ${type}\n${data({ type, ...rest })}`

/** Makes an id that looks like a provider's. */
export const id = (prefix: string): string => `${prefix}${crypto.randomUUID().replaceAll('-', '')}`

/** The time in whole seconds. */
export const now = (): number => Math.floor(Date.now() / 1_000)
