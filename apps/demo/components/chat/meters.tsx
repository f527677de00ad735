import type { ReactNode } from 'react'
import type { Budget } from '../console/api'

/** Micro-dollars as people write them. */
export const dollars = (micro: number): string => `$${(micro / 1_000_000).toFixed(4)}`

const count = (units: number): string => units.toLocaleString('en')

interface Kind {
  readonly label: string
  readonly told: (units: number) => string
}

const KINDS: Readonly<Record<string, Kind>> = {
  'budget.daily': { label: 'Dollars left today', told: dollars },
  tpm: { label: 'Tokens left this minute', told: count },
  'in-flight': { label: 'Calls that may still begin', told: count },
}

/** What is left of each limit, as bars that move while a call is running. */
export function Meters({
  tenant,
  limits,
}: {
  tenant: string
  limits: readonly Budget[]
}): ReactNode {
  if (limits.length === 0) return <p className="hint">What is left is not known at the moment.</p>
  return (
    <ul className="budgets">
      {limits.map(({ name, limit, remaining }) => {
        const { label, told } = KINDS[name] ?? { label: name, told: count }
        return (
          <li key={name}>
            <div className="bar-label">
              <span>
                {label} <code>{name}</code>
              </span>
              <span>
                <strong>{told(remaining)}</strong> of {told(limit)}
              </span>
            </div>
            <div
              role="meter"
              aria-label={`${label}, ${tenant}`}
              aria-valuemin={0}
              aria-valuemax={limit}
              aria-valuenow={remaining}
              aria-valuetext={`${told(remaining)} of ${told(limit)}`}
              className={remaining === 0 ? 'bar spent' : 'bar'}
            >
              <div style={{ width: `${(100 * remaining) / limit}%` }} />
            </div>
          </li>
        )
      })}
    </ul>
  )
}
