import type { ReactNode } from 'react'
import type { Budget } from './api'
import { duration } from './duration'

const LABELS: Readonly<Record<string, string>> = {
  daily: 'Today, all routes',
  rpm: 'This minute, this route',
}

interface BudgetsProps {
  readonly budgets: readonly Budget[]
  readonly ageMs: number
  readonly hasToken: boolean
}

/** The rest of each budget, as bars. */
export function Budgets({ budgets, ageMs, hasToken }: BudgetsProps): ReactNode {
  if (!hasToken) return <p className="hint">Without a JWT every answer is 401.</p>
  if (budgets.length === 0) return <p className="hint">The budgets are not known at the moment.</p>
  return (
    <ul className="budgets">
      {budgets.map((budget) => (
        <li key={budget.name}>
          <Bar {...budget} resetMs={Math.max(0, budget.resetMs - ageMs)} />
        </li>
      ))}
    </ul>
  )
}

function Bar({ name, limit, remaining, resetMs }: Budget): ReactNode {
  const isUsed = remaining < limit
  const label = LABELS[name] ?? name
  return (
    <>
      <div className="bar-label">
        <span>
          {label} <code>{name}</code>
        </span>
        <span>
          <strong>{remaining.toLocaleString('en')}</strong> of {limit.toLocaleString('en')} left
        </span>
      </div>
      <div
        role="meter"
        aria-label={label}
        aria-valuemin={0}
        aria-valuemax={limit}
        aria-valuenow={remaining}
        className={remaining === 0 ? 'bar spent' : 'bar'}
      >
        <div style={{ width: `${(100 * remaining) / limit}%` }} />
      </div>
      <div className="hint">{isUsed ? `More in ${duration(resetMs)}` : 'Nothing used yet'}</div>
    </>
  )
}
