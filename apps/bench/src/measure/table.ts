import { median, quantile, ratios } from './rounds.ts'

/** The measurements of one side, one per round, and a note for the table. */
export interface Figure {
  readonly values: readonly number[]
  readonly note?: string
}

/** One row of the table. */
export interface Row {
  readonly title: string
  readonly unit: 'ms' | 'µs' | 'decisions/s' | 'ms/MB'
  readonly reference?: Figure
  readonly peer?: Figure
  readonly ours: Figure
  /** The largest acceptable ratio or, without a reference, the largest acceptable figure. */
  readonly bar?: number
}

const HEADINGS = [
  'measurement',
  'reference (1.00)',
  'peer',
  'Sluice',
  'ratio',
  'p25–p75',
  'bar',
] as const

/**
 * Formats the rows as a Markdown table. Figures are medians over the rounds. A ratio is the median of
 * the ratios to the reference in the same round. The spread is that of the ratio or, without a
 * reference, that of the figure.
 */
export function markdownTable(rows: readonly Row[]): string {
  const cells = [[...HEADINGS], ...rows.map(cellsOf)]
  const widths = HEADINGS.map((_, column) =>
    Math.max(3, ...cells.map((row) => row[column]?.length ?? 0)),
  )
  const lines = cells.map((row) => line(row.map((text, at) => text.padEnd(widths[at] ?? 0))))
  return [lines[0], line(widths.map((width) => '-'.repeat(width))), ...lines.slice(1)].join('\n')
}

const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`

function cellsOf({ title, unit, reference, peer, ours, bar }: Row): string[] {
  const show = (figure: Figure | undefined): string =>
    figure ? `${format(median(figure.values), unit)}${figure.note ? `, ${figure.note}` : ''}` : '–'
  const ourRatios = reference && ratios(ours.values, reference.values)
  const peerRatio = reference && peer && median(ratios(peer.values, reference.values)).toFixed(2)
  return [
    title,
    show(reference),
    peerRatio ? `${show(peer)} (${peerRatio})` : show(peer),
    show(ours),
    ourRatios ? median(ourRatios).toFixed(2) : '–',
    spread(ourRatios ?? ours.values, ourRatios ? 2 : digits(median(ours.values))),
    bar === undefined ? '–' : reference ? `≤ ${bar.toFixed(2)}` : `≤ ${bar} ${unit}`,
  ]
}

const spread = (values: readonly number[], places: number): string =>
  `${quantile(values, 0.25).toFixed(places)}–${quantile(values, 0.75).toFixed(places)}`

const format = (value: number, unit: Row['unit']): string =>
  `${value.toFixed(digits(value))} ${unit}`

/** Returns the decimals for about three significant digits. */
const digits = (value: number): number => (value >= 100 ? 0 : value >= 10 ? 1 : value >= 1 ? 2 : 3)
