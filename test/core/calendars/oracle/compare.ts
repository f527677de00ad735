import { boundariesOf, textOf, type Anchor } from './boundaries.ts'
import { offsetOf, type Span, type Table } from './tables.ts'

/** Functions of the product that the oracle judges. */
export interface Product {
  periodAt: (every: Anchor['every'], stroke: Anchor, zone: string, now: number) => PeriodOfProduct
  localText: (zone: string, instant: number) => string
}

interface PeriodOfProduct {
  readonly since: number
  readonly finish: number
  readonly following: number
}

/** The boundaries to compare: each one, or those close to a change of clocks and one in 500 of all others. */
export type Sample = 'all' | 'changes'

/** The result of a comparison. */
export interface Comparison {
  boundaries: number
  /** Instants whose period was compared. */
  instants: number
  /** How many instants or texts differ. */
  deviations: number
  /** The first of these, as text. */
  examples: string[]
}

const hoursOf = (anchor: Omit<Anchor, 'hour'>, hours: readonly number[]): Anchor[] =>
  hours.map((hour) => ({ ...anchor, hour }))
const HOURS = [0, 2, 3]
const DATES = [
  [1, 1],
  [2, 29],
  [3, 29],
  [4, 31],
  [6, 15],
  [10, 25],
  [12, 30],
  [12, 31],
] as const

/** Kinds of periods with the hours, weekdays and days at which they begin. */
const ANCHORS: readonly Anchor[] = [
  ...hoursOf({ every: 'day', month: 1, day: 1, weekday: 0 }, [0, 1, 2, 3, 23]),
  ...[0, 1, 2, 3, 4, 5, 6].map((weekday): Anchor => {
    return { every: 'week', month: 1, day: 1, weekday, hour: HOURS[weekday % 3] ?? 0 }
  }),
  ...[1, 15, 28, 29, 30, 31].flatMap((day) =>
    hoursOf({ every: 'month', month: 1, day, weekday: 0 }, HOURS),
  ),
  ...DATES.flatMap(([month, day]) => hoursOf({ every: 'year', month, day, weekday: 0 }, HOURS)),
]

const [FIRST, LAST] = [Date.UTC(2006, 0), Date.UTC(2027, 0)]
const CLOSE_MS = 14 * 3_600_000

/** Compares the periods of 2006 to 2026 in some zones with those of the product. */
export function compare(product: Product, table: Table, zones: readonly string[], sample: Sample) {
  const result: Comparison = { boundaries: 0, instants: 0, deviations: 0, examples: [] }
  for (const zone of zones) {
    const spans = table.get(zone) ?? []
    const isTaken = sampler(spans, sample)
    for (const anchor of ANCHORS) {
      const boundaries = boundariesOf(spans, anchor)
      for (const [index, boundary] of boundaries.entries()) {
        if (boundary < FIRST || boundary >= LAST || !isTaken(boundary)) continue
        result.boundaries += 1
        const offset = offsetOf(spans, boundary)
        const text = textOf(zone, offset, boundary)
        note(result, [product.localText(zone, boundary)], [text], () => `localText(${boundary})`)
        compareAround(product, { zone, anchor, boundaries, index, sample }, result)
      }
    }
  }
  return result
}

/** Returns a function that chooses boundaries. */
function sampler(spans: readonly Span[], sample: Sample): (boundary: number) => boolean {
  if (sample === 'all') return () => true
  const changes = spans.map(({ from }) => from)
  let count = 0
  return (boundary) => {
    count += 1
    return count % 500 === 0 || changes.some((change) => Math.abs(boundary - change) < CLOSE_MS)
  }
}

interface Place {
  zone: string
  anchor: Anchor
  boundaries: readonly number[]
  index: number
  sample: Sample
}

/** Compares the periods of the instants before and at a boundary and of one after it that is drawn, or of one of the three. */
function compareAround(product: Product, place: Place, result: Comparison): void {
  const { zone, anchor, boundaries, index, sample } = place
  const [boundary = 0, next = 0] = boundaries.slice(index, index + 2)
  const drawn = boundary + Math.floor(draw(boundary) * (next - boundary))
  const instants = [boundary - 1, boundary, drawn]
  for (const instant of sample === 'all' ? instants : instants.slice(index % 3).slice(0, 1)) {
    result.instants += 1
    const expected = boundaries.slice(instant < boundary ? index - 1 : index).slice(0, 3)
    const { since, finish, following } = product.periodAt(anchor.every, anchor, zone, instant)
    const where = () => `${zone} ${JSON.stringify(anchor)} at ${new Date(instant).toISOString()}`
    note(result, [since, finish, following], expected, where)
  }
}

/** Returns a number from 0 to 1 that looks random, and is the same for the same seed. */
function draw(seed: number): number {
  const value = Math.sin(seed / 1_000) * 10_000
  return value - Math.floor(value)
}

function note(
  result: Comparison,
  found: readonly unknown[],
  expected: readonly unknown[],
  where: () => string,
): void {
  if (found.every((value, index) => value === expected[index])) return
  result.deviations += 1
  if (result.examples.length < 5) {
    result.examples.push(`${where()}: ${found.join(', ')} instead of ${expected.join(', ')}`)
  }
}
