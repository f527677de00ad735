import type { Point, Tick } from '../view.ts'
import { NO_ACTIVITY, NO_LEVELS, type Levels } from '../totals.ts'

/** A stretch of time that charts show. */
export interface Range {
  readonly spanMs: number
  readonly spans: number
}

export const RANGES: Readonly<Record<'minute' | 'minutes' | 'hours', Range>> = {
  minute: { spanMs: 1_000, spans: 60 },
  minutes: { spanMs: 1_000, spans: 300 },
  hours: { spanMs: 60_000, spans: 180 },
}

export function pointIn(tick: Tick | undefined, tenant: string | undefined): Point | undefined {
  if (!tick || tenant === undefined) return tick?.all
  // A tenant may be named as a property that every object has.
  return Object.hasOwn(tick.tenants, tenant) ? tick.tenants[tenant] : undefined
}

/** Returns a point for each span up to now: counts are 0 without activity, and amounts stay as they were. */
export function pointsOf(
  ticks: readonly Tick[],
  tenant: string | undefined,
  now: number,
  { spanMs, spans }: Range,
): readonly (Point & { readonly at: number })[] {
  const last = now - (now % spanMs)
  const first = last - (spans - 1) * spanMs
  const byTime = new Map<number, Point>()
  let levels: Levels = NO_LEVELS
  for (const tick of ticks) {
    const point = pointIn(tick, tenant)
    if (!point) continue
    if (tick.at < first) levels = point
    else byTime.set(tick.at, point)
  }
  return Array.from({ length: spans }, (_, index) => {
    const at = first + index * spanMs
    const point = byTime.get(at)
    levels = point ?? levels
    const { usedUsd, heldUsd, budgetUsd, avoidedUsd } = levels
    return { ...NO_ACTIVITY, ...point, usedUsd, heldUsd, budgetUsd, avoidedUsd, at }
  })
}

/** Returns the sum of the last `length` values at each place. */
export function movingSum(values: readonly number[], length: number): number[] {
  let sum = 0
  return values.map((value, index) => {
    sum += value - (values[index - length] ?? 0)
    return Math.max(0, sum)
  })
}

/** Returns lines that each add to the one before, the highest first: one that adds nothing lies below the other. */
export function stackedOf(data: readonly (readonly number[])[]): number[][] {
  const [times = [], ...lines] = data
  const sums = times.map(() => 0)
  const stacked = lines.map((line) =>
    line.map((value, index) => (sums[index] = (sums[index] ?? 0) + value)),
  )
  return [[...times], ...stacked.toReversed()]
}
