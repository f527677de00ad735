import { axisOf, type Row } from '../measure/row.ts'
import { barText, comparisons, spread, type Comparison, type Spread } from './compare.ts'
import { amount, significant, unitTitle } from './numbers.ts'

/** A column of a table: its heading, and its cell of a comparison. */
interface Column {
  readonly heading: string
  readonly cell: (comparison: Comparison) => string
}

const MEASUREMENT: Column = { heading: 'measurement', cell: ({ row }) => row.title }
const PLACE: Column = { heading: 'at', cell: ({ row }) => atText(row) }
const OURS: Column = { heading: 'Sluice', cell: ({ row }) => figureText(row.ours, row) }

const COLUMNS: readonly Column[] = [
  MEASUREMENT,
  PLACE,
  { heading: 'beside', cell: ({ name }) => name ?? NOTHING },
  { heading: 'ratio', cell: ({ ratio }) => (ratio ? ratio.median.toFixed(2) : NOTHING) },
  { heading: 'p25–p75', cell: ({ row, ratio }) => spreadText(ratio, row) },
  OURS,
  {
    heading: 'the other',
    cell: ({ row, other }) => (other ? figureText(other, row) : NOTHING),
  },
]

const BAR: Column = { heading: 'bar', cell: ({ row, bar }) => barText(bar, row.unit) }

const NOTHING = '–'

interface Options {
  /** Show the bars of the gate. Default: false. */
  readonly bars?: boolean
  /** Show a line for each row, with the ratios to all others, and no quartiles. Default: false. */
  readonly brief?: boolean
}

/**
 * Formats rows as Markdown tables. Figures are medians over the rounds. Rows along an axis become one line
 * for each title; the others a line for each comparison. A ratio is the median of the ratios within a
 * round: Sluice's figure divided by the other's. The spread is that of the ratio or, without one, that of
 * the figure. Columns without content are left out.
 */
export function markdownTable(rows: readonly Row[], options: Options = {}): string {
  const { bars = false, brief = false } = options
  const along = Map.groupBy(rows.filter(isAlone), ({ at, unit }) => `${axisOf(at)} ${unit}`)
  const beside = rows.filter((row) => !isAlone(row))
  return [
    ...Array.from(along.values(), (group) => axisTable(group, brief)),
    ...(beside.length > 0 ? [brief ? ratioTable(beside) : comparisonTable(beside, bars)] : []),
  ].join('\n\n')
}

/** Returns true for a point of a line that nothing is compared with. */
const isAlone = ({ at, others }: Row): boolean => at !== undefined && others === undefined

function axisTable(rows: readonly Row[], brief: boolean): string {
  const [{ at, unit } = { at: undefined, unit: 'ms' as const }] = rows
  const axis = axisOf(at)
  const places = [...new Set(rows.map((row) => placeOf(row)))].toSorted((a, b) => a - b)
  const cell = (title: string, place: number): string => {
    const row = rows.find((one) => one.title === title && placeOf(one) === place)
    return row ? axisText(row, brief) : NOTHING
  }
  return grid(
    [`${unitTitle(unit)} by ${axis}`, ...places.map((place) => place.toLocaleString('en'))],
    [...new Set(rows.map(({ title }) => title))].map((title) =>
      [title].concat(places.map((place) => cell(title, place))),
    ),
  )
}

const placeOf = ({ at }: Row): number => Object.values(at ?? {})[0] ?? Number.NaN

function axisText({ ours }: Row, brief: boolean): string {
  const { median, low, high } = spread(ours.values)
  const range = ours.values.length < 2 || brief ? '' : ` (${significant(low)}–${significant(high)})`
  return `${significant(median)}${range}`
}

function comparisonTable(rows: readonly Row[], bars: boolean): string {
  return tableOf([...COLUMNS, ...(bars ? [BAR] : [])], comparisons(rows))
}

/** Makes a line for each row, and a column for each other. */
function ratioTable(rows: readonly Row[]): string {
  const names = new Set(rows.flatMap(({ others = {} }) => Object.keys(others)))
  const columns = Array.from(names, (name) => ({
    heading: `÷ ${name}`,
    cell: ({ row }: Comparison) => {
      const ratio = comparisons([row]).find((one) => one.name === name)?.ratio
      return ratio ? ratio.median.toFixed(2) : NOTHING
    },
  }))
  return tableOf(
    [MEASUREMENT, PLACE, OURS, ...columns],
    rows.map((row) => ({ row })),
  )
}

/** Leaves columns without content out. */
function tableOf(columns: readonly Column[], lines: readonly Comparison[]): string {
  const shown = columns.filter(({ cell }) => lines.some((line) => cell(line) !== NOTHING))
  return grid(
    shown.map(({ heading }) => heading),
    lines.map((line) => shown.map(({ cell }) => cell(line))),
  )
}

const joined = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`

/** Formats cells as a Markdown table whose columns line up. */
function grid(headings: readonly string[], lines: readonly (readonly string[])[]): string {
  const widths = headings.map((heading, column) =>
    Math.max(3, heading.length, ...lines.map((line) => line[column]?.length ?? 0)),
  )
  const padded = (cells: readonly string[]): string =>
    joined(cells.map((text, column) => text.padEnd(widths[column] ?? 0)))
  return [
    padded(headings),
    joined(widths.map((width) => '-'.repeat(width))),
    ...lines.map(padded),
  ].join('\n')
}

const atText = ({ at }: Row): string =>
  Object.entries(at ?? {})
    .map(([axis, value]) => `${axis}: ${value.toLocaleString('en')}`)
    .join(', ') || NOTHING

const figureText = (figure: Row['ours'], { unit }: Row): string =>
  `${amount(spread(figure.values).median, unit)}${figure.note ? `, ${figure.note}` : ''}`

function spreadText(ratio: Spread | undefined, { ours }: Row): string {
  // A single count has no spread.
  if (ours.values.length < 2) return NOTHING
  if (ratio) return `${ratio.low.toFixed(2)}–${ratio.high.toFixed(2)}`
  const { low, high } = spread(ours.values)
  return `${significant(low)}–${significant(high)}`
}
