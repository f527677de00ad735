import { moreIsBetter, type Figure, type Row, type Unit } from '../measure/row.ts'
import { median, quantile, ratios } from '../measure/rounds.ts'

/** The median of some values, and the quartiles that half of them lie between. */
export interface Spread {
  readonly median: number
  readonly low: number
  readonly high: number
}

export const spread = (values: readonly number[]): Spread => ({
  median: median(values),
  low: quantile(values, 0.25),
  high: quantile(values, 0.75),
})

/** Sluice beside one other, or by itself. */
export interface Comparison {
  readonly row: Row
  readonly name?: string
  readonly other?: Figure
  /** Sluice's figure divided by the other's of the same round. */
  readonly ratio?: Spread | undefined
  readonly bar?: number | undefined
}

/** Returns each row once for each other that it is compared with, or once by itself. */
export const comparisons = (rows: readonly Row[]): Comparison[] =>
  rows.flatMap((row): Comparison[] => {
    const others = Object.entries(row.others ?? {})
    if (others.length === 0) return [{ row, bar: row.bar }]
    return others.map(([name, other]) => {
      const ratio = spread(ratios(row.ours.values, other.values))
      // 0 ÷ 0 is no ratio.
      const isRatio = Number.isFinite(ratio.median)
      return { row, name, other, ratio: isRatio ? ratio : undefined, bar: other.bar }
    })
  })

/** Returns the bar as text: `≤ 1.15`, or `≥ 1.10` where more is better. */
export const barText = (bar: number | undefined, unit: Unit): string =>
  bar === undefined ? '–' : `${moreIsBetter(unit) ? '≥' : '≤'} ${bar}`
