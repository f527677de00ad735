import type { Run } from './recording.ts'
import { csvLine } from '@sluice/core/internal/text'

/** Returns the decisions of a run as CSV, a line for each. Money is in micro-dollars. */
export function decisionsCsv({ policies, steps }: Run): string {
  const left = policies.map(({ name }) => `${name}_left`)
  const head = [
    'ms',
    'tenant',
    'try',
    'allowed',
    'policy',
    'reason',
    'retry_after_ms',
    'wait_ms',
    ...left,
  ]
  const rows = steps.map((step) => [
    step.at,
    step.tenant,
    step.attempt,
    String(step.allowed),
    step.policy ?? '',
    step.reason ?? '',
    step.retryAfterMs ?? '',
    step.delayMs,
    ...step.remaining,
  ])
  return [head, ...rows].map((cells) => csvLine(cells)).join('')
}
