import type { Recorder } from '../measure.ts'
import { METRICS, type GaugeName, type MetricName } from '../metric-table.ts'
import { LABELS, type Labels } from '../names.ts'
import { labelText } from './label-text.ts'

/**
 * Series by their names, and their values: of a counter one, of a histogram the number in each bucket and the
 * sum. Values are as measured: whole milliseconds, micro-dollars.
 */
export type SeriesValues = ReadonlyMap<string, readonly number[]>

/** The first character of a series' name, by its metric. */
export const FAMILIES: Readonly<Record<Exclude<MetricName, GaugeName>, string>> = {
  decisions: 'd',
  shadow_denials: 'h',
  units: 'u',
  cost: 'c',
  'request.cost': 'r',
  'limit.used': 'l',
  'store.duration': 's',
  thresholds: 't',
  'waits.begun': 'b',
  'wait.duration': 'w',
  jobs: 'j',
  'job.wait': 'q',
  'answers.cut': 'a',
}

export type CountedMetric = keyof typeof FAMILIES

/** The labels of the series that has none. */
const NO_LABELS: Labels = {}

interface Series {
  readonly name: string
  readonly values: number[]
}

/**
 * Counts by series, of which there are at most `max`: what comes later is added to a series of its metric that
 * has no labels, so that sums stay right.
 */
export class SeriesCounter implements Recorder {
  #series = new Map<string, Series>()
  readonly #max: number

  constructor(max: number) {
    this.#max = max
  }

  add(metric: CountedMetric, labels: Labels, value: number): void {
    const { values } = this.#find(metric, labels, 1)
    values[0] = (values[0] ?? 0) + value
  }

  observe(metric: CountedMetric, labels: Labels, value: number): void {
    const { bounds = [] } = METRICS[metric]
    const { values } = this.#find(metric, labels, bounds.length + 2)
    const bucket = bounds.findIndex((bound) => value <= bound)
    const index = bucket < 0 ? bounds.length : bucket
    values[index] = (values[index] ?? 0) + 1
    values[bounds.length + 1] = (values[bounds.length + 1] ?? 0) + Math.round(value)
  }

  /** All series since the start. */
  get values(): SeriesValues {
    return new Map([...this.#series.values()].map(({ name, values }) => [name, values]))
  }

  /** Returns all series, and begins anew. */
  take(): SeriesValues {
    const taken = this.values
    this.#series = new Map()
    return taken
  }

  #find(metric: CountedMetric, labels: Labels, length: number): Series {
    const found = this.#series.get(keyOf(metric, labels))
    if (found) return found
    const isFull = this.#series.size >= this.#max
    const shown = isFull ? NO_LABELS : labels
    const key = keyOf(metric, shown)
    const known = this.#series.get(key)
    if (known) return known
    const name = FAMILIES[metric] + labelText(shown)
    const created = { name, values: Array.from({ length }, () => 0) }
    this.#series.set(key, created)
    return created
  }
}

const LABEL_NAMES = Object.keys(LABELS) as (keyof Labels)[]

/** Returns the key of a series. To write its name each time would take longer than to count. */
function keyOf(metric: CountedMetric, labels: Labels): string {
  let key = FAMILIES[metric]
  for (const label of LABEL_NAMES) {
    const value = labels[label]
    key += value === undefined ? '\0' : `\0${value}`
  }
  return key
}
