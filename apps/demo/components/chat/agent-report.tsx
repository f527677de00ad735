import type { ReactNode } from 'react'
import type { Budget } from '../console/api'
import type { AgentReport } from './agent'
import { dollars } from './meters'

const ENDS: Readonly<Record<string, string>> = {
  budget: 'Its budget stopped it.',
  stopped: 'You stopped it.',
  failed: 'The demo does not answer.',
}

interface Props {
  readonly report: AgentReport
  readonly limits: readonly Budget[]
  /** What another tenant was told, once it was asked. */
  readonly other: string | undefined
}

/** How far a runaway agent has come, and what it could not do. */
export function AgentTold({ report, limits, other }: Props): ReactNode {
  const { answered, refused, tokens, end } = report
  const budget = limits.find(({ name }) => name === 'budget.daily')
  return (
    <div className="agent" role="status">
      <ul className="counts" aria-label="What the agent did">
        <li className="count allowed">
          <strong>{answered}</strong> let through
        </li>
        <li className="count rate_limit_exceeded">
          <strong>{refused}</strong> refused
        </li>
        <li className="count unauthenticated">
          <strong>{tokens.toLocaleString('en')}</strong> tokens
        </li>
        {budget && (
          <li className="count daily_quota_exceeded">
            <strong>{dollars(budget.limit - budget.remaining)}</strong> of {dollars(budget.limit)}{' '}
            {end ? 'spent' : 'spent or held'}
          </li>
        )}
      </ul>
      <p className="hint">
        {end ? ENDS[end] : 'The agent is running …'} {other}
      </p>
    </div>
  )
}
