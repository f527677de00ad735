import type { Axis, Row } from '../measure/row.ts'
import { comparisons, spread, type Spread } from './compare.ts'

/** A point or a bar of a plot. */
export interface Mark extends Spread {
  readonly job: string
  readonly side: string
  /** Its place on the horizontal axis of a line. */
  readonly at?: number
}

const SLUICE = 'Sluice'

const mark = (job: string, side: string, figure: Spread, at?: number): Mark => ({
  ...figure,
  job,
  side,
  ...(at !== undefined && { at }),
})

/** Returns the figures of all sides. */
export const sidesOf = (rows: readonly Row[]): Mark[] =>
  rows.flatMap(({ title, ours, others }) =>
    Object.entries({ [SLUICE]: ours, ...others }).map(([side, { values }]) =>
      mark(title, side, spread(values)),
    ),
  )

/** Returns the figures as points of lines, a line for each job and side. */
export const linesOf = (rows: readonly Row[], axis: Axis): Mark[] =>
  rows.flatMap((row) =>
    sidesOf([row]).map((of) => {
      const line = of.side === SLUICE ? of.job : `${of.job}, ${of.side}`
      return mark(of.job, line, of, row.at?.[axis])
    }),
  )

/** Returns the ratios of Sluice to each other. */
export const ratiosOf = (rows: readonly Row[]): Mark[] =>
  comparisons(rows).flatMap(({ row, name, ratio }) =>
    name && ratio ? [mark(row.title, name, ratio)] : [],
  )

/** Returns all marks in words. */
export const listed = (marks: readonly Mark[], format: (value: number) => string): string =>
  marks.map(({ job, side, median }) => `${job}, ${side}: ${format(median)}`).join('; ')

/** Returns the first and the last point of each line in words. */
export const ends = (marks: readonly Mark[], format: (value: number) => string): string =>
  Array.from(
    Map.groupBy(marks, ({ side }) => side),
    ([side, points]) =>
      `${side}: ${[...new Set([points[0], points.at(-1)])]
        .map((point) => point && `${format(point.median)} at ${point.at?.toLocaleString('en')}`)
        .join(', ')}`,
  ).join('; ')
