import type { ReactNode } from 'react'
import type { Totals, View } from '../view.ts'
import type { ChartsProps } from './charts.tsx'
import { NO_COUNTS, NO_LEVELS } from '../totals.ts'
import { pointIn } from './series.ts'
import { tokensToday } from './tenants.tsx'
import { countOf, dollarsOf } from './words.ts'

const NOTHING: Totals = { ...NO_COUNTS, ...NO_LEVELS }

/** The sums of all tenants or of one, each with its meaning. */
export function Figures({ view, tenant, now }: Omit<ChartsProps, 'range'>): ReactNode {
  const known = view?.tenants.find((one) => one.tenant === tenant)
  const figures = (tenant === undefined ? view?.totals : known) ?? NOTHING
  const tokens = tokensToday(figures.tokens, known?.lastAt ?? view?.now ?? now, now)
  const { allowed, denied, degraded, usedUsd, heldUsd, budgetUsd } = figures
  const isLeast = tenant === undefined && view?.isPartial === true
  const rate = rateAt(view, tenant, now)
  return (
    <dl className="sluice-figures" aria-label={tenant ?? 'All tenants'}>
      {(budgetUsd > 0 || usedUsd > 0) && (
        <Figure
          name="Spent"
          value={`${isLeast ? 'at least ' : ''}${dollarsOf(usedUsd - heldUsd)}`}
          note={
            budgetUsd === 0
              ? 'no budget in use yet'
              : `of ${dollarsOf(budgetUsd)}${heldUsd > 0 ? `, ${dollarsOf(heldUsd)} reserved` : ''}`
          }
          share={budgetUsd === 0 ? 0 : usedUsd / budgetUsd}
        />
      )}
      {tokens > 0 && <Figure name="Tokens" value={countOf(tokens)} note="charged today (UTC)" />}
      <Figure
        name="Allowed"
        value={countOf(allowed)}
        note={`${countOf(rate.allowed)} a second now`}
        tone="good"
      />
      <Figure
        name="Denied"
        value={countOf(denied)}
        note={`${countOf(rate.denied)} a second now`}
        tone="bad"
      />
      {figures.avoidedCalls > 0 && (
        <Figure
          name="Not spent, as denied"
          value={`≈ ${dollarsOf(figures.avoidedUsd)}`}
          note={`estimate of ${countOf(figures.avoidedCalls)} ${figures.avoidedCalls === 1 ? 'call' : 'calls'}`}
        />
      )}
      {degraded > 0 && (
        <Figure
          name="Without the store"
          value={countOf(degraded)}
          note="decided by this process"
          tone="warn"
        />
      )}
    </dl>
  )
}

function rateAt(view: View | undefined, tenant: string | undefined, now: number) {
  const at = now - (now % 1_000) - 1_000
  const tick = view?.seconds.find((one) => one.at === at)
  const point = pointIn(tick, tenant)
  return { allowed: point?.allowed ?? 0, denied: point?.denied ?? 0 }
}

interface FigureProps {
  readonly name: string
  readonly value: string
  readonly note: string
  readonly tone?: 'good' | 'bad' | 'warn'
  /** The filled part of a bar below. */
  readonly share?: number
}

function Figure({ name, value, note, tone, share }: FigureProps): ReactNode {
  return (
    <div className={`sluice-figure ${tone ? `sluice-${tone}` : ''}`}>
      <dt>{name}</dt>
      <dd>
        <strong>{value}</strong>
        <span>{note}</span>
        {share !== undefined && (
          <i className="sluice-share" aria-hidden>
            <i style={{ width: `${Math.min(100, 100 * share)}%` }} />
          </i>
        )}
      </dd>
    </div>
  )
}
