import type { PeriodRows } from '../parse-cells.ts'

type Rows = Omit<PeriodRows, 'quarters'>
export type Row = Rows[keyof Rows][number]

/** The fields of rows that are added up. All others are names. */
const AMOUNTS: ReadonlySet<string> = new Set([
  'requests',
  'tokens',
  'usd',
  'units',
  'denied',
  'shadowRequests',
  'shadowDenied',
  'shadowTokens',
  'shadowUsd',
])

/** Rows, of which those with the same names are added up. */
export class RowSums<R extends Row> {
  readonly #sums = new Map<string, R>()

  /** Adds rows, whatever their start. @param sign `-1` to take them away. */
  add(rows: readonly R[], sign: 1 | -1 = 1): void {
    for (const row of rows) {
      const { start: _, ...fields } = row
      const entries = Object.entries(fields)
      const names = entries.filter(([name]) => !AMOUNTS.has(name))
      const key = JSON.stringify(names)
      const known = this.#sums.get(key) as Readonly<Record<string, number>> | undefined
      const amounts = entries
        .filter(([name]) => AMOUNTS.has(name))
        .map(([name, amount]) => [name, (known?.[name] ?? 0) + sign * (amount as number)])
      this.#sums.set(key, { ...row, ...(Object.fromEntries(amounts) as object) })
    }
  }

  /** Returns the sums with a start, without those of nothing. */
  startingAt(times: Pick<Row, 'start' | 'startsAt'>): R[] {
    return [...this.#sums.values()].flatMap((row) => {
      const isNothing = Object.entries(row).every(([name, value]) => !AMOUNTS.has(name) || !value)
      return isNothing ? [] : [{ ...row, ...times }]
    })
  }
}

/** The rows of one period of a calendar. */
export class PeriodSums {
  readonly rows: RowSums<Rows['rows'][number]> = new RowSums()
  readonly policies: RowSums<Rows['policies'][number]> = new RowSums()
  readonly choices: RowSums<Rows['choices'][number]> = new RowSums()

  add({ rows, policies, choices }: Rows): void {
    this.rows.add(rows)
    this.policies.add(policies)
    this.choices.add(choices)
  }
}
