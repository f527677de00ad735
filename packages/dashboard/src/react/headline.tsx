import { useMemo, type ReactNode } from 'react'
import type { ChartsProps } from './charts.tsx'
import { pointIn, pointsOf, RANGES } from './series.ts'
import { countOf, dollarsOf, percentOf } from './words.ts'

const PERIODS: Readonly<Record<keyof typeof RANGES, string>> = {
  minute: 'the last minute',
  minutes: 'the last 5 minutes',
  hours: 'the last 3 hours',
}

export interface PeriodSums {
  readonly allowed: number
  readonly denied: number
  /** The cost of the denied calls, had they been made, in micro-dollars. */
  readonly avoidedUsd: number
}

/** The words for a tenant that was active, and is in no point: a point has those with the most dollars. */
const NOT_DRAWN = 'Not drawn: the charts have the 50 tenants that have spent most'

export function Headline({ view, tenant, now, range }: ChartsProps): ReactNode {
  const second = now - (now % 1_000)
  const text = useMemo(() => {
    const ticks = (range === 'hours' ? view?.minutes : view?.seconds) ?? []
    const points = pointsOf(ticks, tenant, second, RANGES[range])
    const { spanMs, spans } = RANGES[range]
    const known = view?.tenants.find((one) => one.tenant === tenant)
    const wasActive = known !== undefined && known.lastAt > second - spanMs * (spans - 1)
    if (wasActive && !ticks.some((tick) => pointIn(tick, tenant))) return NOT_DRAWN
    const sum = (name: 'allowed' | 'denied'): number =>
      points.reduce((total, point) => total + point[name], 0)
    const avoidedUsd = (points.at(-1)?.avoidedUsd ?? 0) - (points[0]?.avoidedUsd ?? 0)
    return headlineOf(
      { allowed: sum('allowed'), denied: sum('denied'), avoidedUsd },
      PERIODS[range],
    )
  }, [view, tenant, second, range])
  if (!view) return null
  return <p className="sluice-headline">{text}</p>
}

/** Says in one sentence what has happened in a period. */
export function headlineOf({ allowed, denied, avoidedUsd }: PeriodSums, period: string): string {
  const all = allowed + denied
  if (all === 0) return `Quiet: no request in ${period}`
  if (denied === 0) {
    return `Calm: ${all === 1 ? 'one request' : `${countOf(all)} requests`} in ${period}, none denied`
  }
  const share = denied / all
  const weather = share >= 0.5 ? 'Stormy' : share >= 0.1 ? 'Unsettled' : 'Mostly calm'
  // Less than half a percent is not none.
  const percent = share < 0.005 ? 'less than 1 %' : percentOf(denied, all)
  const cost = avoidedUsd > 0 ? `, about ${dollarsOf(avoidedUsd)} not spent` : ''
  return `${weather}: ${percent} denied in ${period}${cost}`
}
