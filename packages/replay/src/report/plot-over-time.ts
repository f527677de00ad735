import type { TopLevelSpec } from 'vega-lite'
import type { SeriesName, SetReport } from '../simulation/report-types.ts'
import { count, dollars, time } from './format.ts'
import { KIND_COLOUR, KINDS, WIDTH, type Plot } from './plot.ts'
import { drawSvg } from './svg.ts'

/** A pair of series over time, in a unit. */
interface Measure {
  readonly title: string
  readonly names: readonly [allowed: SeriesName, denied: SeriesName]
  /** The axis' title. */
  readonly unit: string
  /** Divides the sums for the axis. */
  readonly divisor: number
  readonly show: (sum: number) => string
}

export const CALLS: Measure = {
  title: 'Calls over time',
  names: ['allowed', 'denied'],
  unit: 'calls',
  divisor: 1,
  show: count,
}
export const TOKENS: Measure = {
  title: 'Tokens over time',
  names: ['allowedTokens', 'deniedTokens'],
  unit: 'tokens',
  divisor: 1,
  show: count,
}
export const DOLLARS: Measure = {
  title: 'Dollars over time',
  names: ['allowedUsd', 'deniedUsd'],
  unit: 'dollars',
  divisor: 1_000_000,
  show: dollars,
}

/** The longest log whose axis shows hours. */
const HOURS_MS = 2 * 86_400_000

/** Plots what was allowed and denied in each interval. */
export async function plotOverTime(set: SetReport, measure: Measure): Promise<Plot> {
  const { title, names, unit, show } = measure
  return {
    title,
    svg: await drawSvg(overTimeSpec(set, measure), overTimeLabel(set, measure)),
    table: {
      head: ['from (UTC)', `${unit} allowed`, `${unit} denied`],
      rows: set.series.map((sums) => [
        time(new Date(sums.at).toISOString()),
        show(sums[names[0]]),
        show(sums[names[1]]),
      ]),
    },
  }
}

/** The height of all calls, and of the denied ones by themselves, in pixels. */
const HEIGHT = 220
const DENIED_HEIGHT = 70

function overTimeSpec({ series, intervalMs }: SetReport, measure: Measure): TopLevelSpec {
  const { names, unit, divisor } = measure
  const values = series.flatMap((sums) =>
    KINDS.map((kind, order) => {
      const sum = sums[names[order] as SeriesName] / divisor
      return { from: sums.at, to: sums.at + intervalMs, kind, order, sum }
    }),
  )
  const format = series.length * intervalMs <= HOURS_MS ? '%H:%M' : '%d %b'
  const bars = (height: number, title: string) =>
    ({
      width: WIDTH,
      height,
      mark: { type: 'bar', binSpacing: series.length > 90 ? 0 : 1 },
      encoding: {
        x: {
          field: 'from',
          type: 'temporal',
          scale: { type: 'utc' },
          bin: 'binned',
          title: 'time (UTC)',
          axis: { format, labelOverlap: true },
        },
        x2: { field: 'to' },
        y: { field: 'sum', type: 'quantitative', stack: 'zero', title },
        color: KIND_COLOUR,
        order: { field: 'order' },
      },
    }) as const
  const all = bars(HEIGHT, `${unit} per ${lengthOf(intervalMs)}`)
  const denied = values.filter(({ kind, sum }) => kind === 'denied' && sum > 0)
  if (denied.length === 0) return { data: { values }, ...all }
  // A few among many are too flat to be seen on the axis of all.
  return {
    vconcat: [
      { data: { values }, ...all },
      {
        data: { values: values.filter(({ kind }) => kind === 'denied') },
        ...bars(DENIED_HEIGHT, `denied ${unit}`),
      },
    ],
  }
}

function overTimeLabel({ series }: SetReport, { title, names, show }: Measure): string {
  const [allowed, denied] = names
  const total = (name: SeriesName): string =>
    show(series.reduce((sum, interval) => sum + interval[name], 0))
  const [peak] = series.toSorted((a, b) => b[denied] - a[denied])
  const most = peak
    ? `; most denied at ${new Date(peak.at).toISOString()}: ${show(peak[denied])}`
    : ''
  return `${title}: ${total(allowed)} allowed, ${total(denied)} denied${most}.`
}

function lengthOf(ms: number): string {
  const units = [
    [604_800_000, 'week'],
    [86_400_000, 'day'],
    [3_600_000, 'hour'],
    [60_000, 'minute'],
    [1_000, 'second'],
  ] as const
  const [size, name] = units.find(([unit]) => ms >= unit) ?? units[4]
  const number = ms / size
  return number === 1 ? name : `${number} ${name}s`
}
