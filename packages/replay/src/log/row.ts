/** One line of a log before it is understood: its values by the names of the columns. */
export interface Row {
  readonly line: number
  readonly values: Readonly<Record<string, unknown>>
}

/** A line that cannot be read. */
export interface Fault {
  readonly line: number
  readonly reason: string
}

/** The text of a log, in pieces. */
export type TextChunks = AsyncIterable<string>

/** The lines of a log, in its order. */
export type Rows = AsyncIterable<Row | Fault>
