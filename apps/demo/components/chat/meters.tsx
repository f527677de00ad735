import type { ReactNode } from 'react'
import type { Budget } from '../console/api'

/** Formats micro-dollars as dollars. */
export const dollars = (micro: number): string => `$${(micro / 1_000_000).toFixed(4)}`

const count = (units: number): string => units.toLocaleString('en')

interface MeterStyle {
  readonly label: string
  readonly format: (units: number) => string
}

const STYLES: Readonly<Record<string, MeterStyle>> = {
  'budget.daily': { label: 'Dollars left today', format: dollars },
  tpm: { label: 'Tokens left this minute', format: count },
  'in-flight': { label: 'Calls that may still begin', format: count },
}

/** The rest of each limit, as bars that move during a call. */
export function Meters({
  tenant,
  limits,
}: {
  tenant: string
  limits: readonly Budget[]
}): ReactNode {
  if (limits.length === 0) return <p className="hint">The limits are not known at the moment.</p>
  return (
    <ul className="budgets">
      {limits.map(({ name, limit, remaining }) => {
        const { label, format } = STYLES[name] ?? { label: name, format: count }
        return (
          <li key={name}>
            <div className="bar-label">
              <span>
                {label} <code>{name}</code>
              </span>
              <span>
                <strong>{format(remaining)}</strong> of {format(limit)}
              </span>
            </div>
            <div
              role="meter"
              aria-label={`${label}, ${tenant}`}
              aria-valuemin={0}
              aria-valuemax={limit}
              aria-valuenow={remaining}
              aria-valuetext={`${format(remaining)} of ${format(limit)}`}
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
