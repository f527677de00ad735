import type { ReactNode } from 'react'
import type { Budget } from '../console/api'
import type { AgentReport } from './agent'
import { dollars } from './meters'

const END_TEXTS: Readonly<Record<string, string>> = {
  budget: 'Its budget stopped it.',
  stopped: 'You stopped it.',
  failed: 'The demo does not answer.',
}

interface AgentSummaryProps {
  readonly report: AgentReport
  readonly limits: readonly Budget[]
  /** A sentence about the neighbour's call, after it was made. */
  readonly neighbourResult: string | undefined
}

/** The counts of a runaway agent: calls, tokens and dollars. */
export function AgentSummary({ report, limits, neighbourResult }: AgentSummaryProps): ReactNode {
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
            {end ? 'spent' : 'spent or reserved'}
          </li>
        )}
      </ul>
      <p className="hint">
        {end ? END_TEXTS[end] : 'The agent is running …'} {neighbourResult}
      </p>
    </div>
  )
}
