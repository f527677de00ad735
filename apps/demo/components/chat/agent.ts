import type { Outcome } from './api'

/** The counts of a runaway agent so far. */
export interface AgentReport {
  readonly answered: number
  readonly refused: number
  readonly tokens: number
  /** The reason of its end, after the end. */
  readonly end: 'budget' | 'stopped' | 'failed' | undefined
}

/** Leaves two of a browser's six connections for the limits and for other tenants. */
const CALLS_PER_ROUND = 4
const RETRY_AFTER_MS = 1_000

/**
 * Runs an agent that makes rounds of calls until the budget refuses a whole round. One refusal is not
 * enough: the estimates of calls in flight count as spent.
 */
export async function runAgent(
  call: () => Promise<Outcome>,
  onProgress: (report: AgentReport) => void,
  signal: AbortSignal,
): Promise<AgentReport> {
  let report: AgentReport = { answered: 0, refused: 0, tokens: 0, end: undefined }
  const update = (change: Partial<AgentReport>): void => {
    report = { ...report, ...change }
    onProgress(report)
  }
  const countedCall = async (): Promise<Outcome> => {
    const outcome = await call()
    const { status, tokens = 0 } = outcome
    if (status === 200) update({ answered: report.answered + 1, tokens: report.tokens + tokens })
    else update({ refused: report.refused + 1 })
    return outcome
  }
  update({})
  try {
    while (report.end === undefined) {
      const round = await Promise.all(Array.from({ length: CALLS_PER_ROUND }, countedCall))
      if (round.every(({ code }) => code === 'insufficient_quota')) update({ end: 'budget' })
      else if (round.every(({ status }) => status !== 200 && status !== 429))
        update({ end: 'failed' })
      else if (!round.some(({ status }) => status === 200)) await pause(RETRY_AFTER_MS, signal)
    }
  } catch {
    update({ end: signal.aborted ? 'stopped' : 'failed' })
  }
  return report
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    setTimeout(resolve, ms)
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true })
  })
}
