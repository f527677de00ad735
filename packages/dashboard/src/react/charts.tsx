import { useMemo, type ReactNode } from 'react'
import type { TenantView, View } from '../view.ts'
import { Chart } from './chart.tsx'
import type { Line } from './plot.ts'
import { movingSum, pointsOf, RANGES } from './series.ts'
import { axisDollarsOf, countOf, dollarsOf } from './words.ts'

export interface ChartsProps {
  readonly view: View | undefined
  readonly tenant: string | undefined
  readonly now: number
  readonly range: keyof typeof RANGES
}

const DOLLARS: readonly Line[] = [
  { label: 'Spent or reserved', color: '--sluice-accent', fill: 'plain' },
  { label: 'Spent', color: '--sluice-good' },
]
/** Of one tenant: the sum of the budgets that are known so far would say nothing. */
const DOLLARS_AND_BUDGET: readonly Line[] = [
  ...DOLLARS,
  { label: 'Budget', color: '--sluice-bad', dash: true },
]
const REQUESTS: readonly Line[] = [
  { label: 'Allowed', color: '--sluice-good', fill: 'plain' },
  { label: 'Denied', color: '--sluice-bad', fill: 'hatched', dash: true },
]
const TOKENS: readonly Line[] = [
  { label: 'Used within a minute', color: '--sluice-accent', fill: 'plain' },
  { label: 'Limit', color: '--sluice-bad', dash: true },
]
const AVOIDED: readonly Line[] = [{ label: 'Estimate', color: '--sluice-accent', fill: 'plain' }]
const IN_DOLLARS = { format: dollarsOf, formatAxis: axisDollarsOf }
const MINUTE_MS = 60_000

/** Dollars and tokens against their limits, requests, and what denied calls would have cost, over time. */
export function Charts({ view, tenant, now, range }: ChartsProps): ReactNode {
  const second = now - (now % 1_000)
  const data = useMemo(() => dataOf(view, tenant, second, range), [view, tenant, second, range])
  const [, used, , budget] = data.dollars
  const isOne = tenant !== undefined
  const [, allowed, denied] = data.requests
  const [, tokens, tokenLimit] = data.tokens
  const [, avoided] = data.avoided
  const span = range === 'hours' ? 'minute' : 'second'
  return (
    <div className="sluice-charts">
      {last(budget) > 0 && (
        <Chart
          title={isOne ? 'Dollars against the budget' : 'Dollars spent'}
          summary={`${dollarsOf(last(used))}${isOne ? ` of ${dollarsOf(last(budget))}` : ''} are spent or reserved.`}
          lines={isOne ? DOLLARS_AND_BUDGET : DOLLARS}
          data={isOne ? data.dollars : data.dollars.slice(0, 3)}
          {...IN_DOLLARS}
          leastTop={10_000}
        />
      )}
      <Chart
        title={`Requests a ${span}`}
        summary={`${last(allowed)} allowed and ${last(denied)} denied in this ${span}.`}
        lines={REQUESTS}
        data={data.requests}
        format={countOf}
        leastTop={5}
        isStacked
      />
      {last(tokenLimit) > 0 ? (
        <Chart
          title="Tokens a minute against the limit"
          summary={`${countOf(last(tokens))} of ${countOf(last(tokenLimit))} are used.`}
          lines={TOKENS}
          data={data.tokens}
          format={countOf}
          leastTop={1_000}
        />
      ) : last(avoided) === 0 ? null : (
        <Chart
          title="What denied calls would have cost"
          summary={`${dollarsOf(last(avoided))}, by an estimate that counts no retry twice.`}
          lines={AVOIDED}
          data={data.avoided}
          {...IN_DOLLARS}
          leastTop={1_000}
        />
      )}
    </div>
  )
}

const last = (line: readonly number[] | undefined): number => line?.at(-1) ?? 0

function dataOf(
  view: View | undefined,
  tenant: string | undefined,
  now: number,
  rangeName: keyof typeof RANGES,
) {
  const range = RANGES[rangeName]
  const ticks = (rangeName === 'hours' ? view?.minutes : view?.seconds) ?? []
  const perMinute = MINUTE_MS / range.spanMs
  // The first shown minute of tokens contains what came before it.
  const points = pointsOf(ticks, tenant, now, { ...range, spans: range.spans + perMinute })
  const tokens = movingSum(
    points.map((point) => point.tokens),
    perMinute,
  ).slice(perMinute)
  const shown = points.slice(perMinute)
  const times = shown.map(({ at }) => at / 1_000)
  const limit = tokenLimitOf(
    view?.tenants.filter((one) => tenant === undefined || one.tenant === tenant),
  )
  return {
    dollars: [
      times,
      shown.map(({ usedUsd }) => usedUsd),
      shown.map(({ usedUsd, heldUsd }) => usedUsd - heldUsd),
      // A budget is what it is now: it was not 0 before the first request.
      shown.map(() => shown.at(-1)?.budgetUsd ?? 0),
    ],
    requests: [times, shown.map(({ allowed }) => allowed), shown.map(({ denied }) => denied)],
    tokens: [times, tokens, times.map(() => limit)],
    avoided: [times, shown.map(({ avoidedUsd }) => avoidedUsd)],
  }
}

const tokenLimitOf = (tenants: readonly TenantView[] = []): number =>
  tenants
    .flatMap(({ policies }) => policies)
    .filter(({ unit, windowMs }) => unit === 'token' && windowMs === MINUTE_MS)
    .reduce((sum, { limit }) => sum + limit, 0)
