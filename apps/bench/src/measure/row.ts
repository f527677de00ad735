/** The unit of a figure. */
export type Unit =
  | 'ms'
  | 'µs'
  | 'ms/MB'
  | 'decisions/s'
  | 'look-ups/s'
  | 'bytes'
  | 'commands'
  | 'trips'
  | 'dollars per million'

/** Returns true if a larger figure of this unit is better. */
export const moreIsBetter = (unit: Unit): boolean => unit.endsWith('/s')

/** The measurements of one side: one per round, or a single one for what no round changes. */
export interface Figure {
  readonly values: readonly number[]
  /** A few words for the table, such as `4.0 commands`. */
  readonly note?: string
}

/** A side that Sluice is compared with. */
interface Other extends Figure {
  /** The largest ratio of Sluice's figure to this one, or the smallest where more is better. */
  readonly bar?: number
}

/** One measurement of Sluice, and of others at the same job in the same rounds. */
export interface Row {
  /** The job. Rows with the same title and another `at` are one line of a table. */
  readonly title: string
  readonly unit: Unit
  /** The column of the table that this row belongs in: `{ tenants: 10_000 }`. */
  readonly at?: Readonly<Partial<Record<Axis, number>>>
  readonly ours: Figure
  /** By name, in the order of the table. */
  readonly others?: Readonly<Record<string, Other>>
  /** The largest figure, or the smallest where more is better. */
  readonly bar?: number
}

/** A quantity that grows from one column to the next. */
export type Axis = 'tenants' | 'limit' | 'waiting'

/** Returns the axis of a column. */
export const axisOf = (at: Row['at']): Axis | undefined =>
  Object.keys(at ?? {})[0] as Axis | undefined
