import type { Outcome } from './api'

/** What a runaway agent has done so far. */
export interface AgentReport {
  readonly answered: number
  readonly refused: number
  readonly tokens: number
  /** Why it is over, once it is. */
  readonly end: 'budget' | 'stopped' | 'failed' | undefined
}

/** Two of a browser's six connections are left to look at the limits, and to other tenants. */
const AT_ONCE = 4
const COME_BACK_MS = 1_000

/**
 * Calls again and again, several at once, until a whole round is refused because the budget is spent. One
 * refusal is not enough: while others are in flight, what they may cost counts as spent.
 */
export async function runAway(
  call: () => Promise<Outcome>,
  onProgress: (report: AgentReport) => void,
  signal: AbortSignal,
): Promise<AgentReport> {
  let report: AgentReport = { answered: 0, refused: 0, tokens: 0, end: undefined }
  const tell = (change: Partial<AgentReport>): void => {
    report = { ...report, ...change }
    onProgress(report)
  }
  const one = async (): Promise<Outcome> => {
    const outcome = await call()
    const { status, tokens = 0 } = outcome
    if (status === 200) tell({ answered: report.answered + 1, tokens: report.tokens + tokens })
    else tell({ refused: report.refused + 1 })
    return outcome
  }
  tell({})
  try {
    while (report.end === undefined) {
      const round = await Promise.all(Array.from({ length: AT_ONCE }, one))
      if (round.every(({ code }) => code === 'insufficient_quota')) tell({ end: 'budget' })
      else if (round.every(({ status }) => status !== 200 && status !== 429))
        tell({ end: 'failed' })
      else if (!round.some(({ status }) => status === 200)) await pause(COME_BACK_MS, signal)
    }
  } catch {
    tell({ end: signal.aborted ? 'stopped' : 'failed' })
  }
  return report
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    setTimeout(resolve, ms)
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true })
  })
}
