import type { Program } from '../../../apps/site/playground/engine/program.ts'
import type { Use } from '../../../apps/site/playground/engine/run.ts'
import type { Ready } from '../../../apps/site/playground/engine/simulate.ts'

/** One decision, as a line that can be compared. */
export type DecisionLine = string

export const lineOf = (
  at: number,
  tenant: string,
  allowed: boolean,
  policy: string | undefined,
  remaining: readonly number[],
): DecisionLine => `${at} ${tenant} ${allowed} ${policy ?? '-'} ${remaining.join()}`

interface Due {
  readonly at: number
  /** 0 for the end of a call, 1 for a retry, 2 for a new request. */
  readonly rank: number
  readonly act: () => Promise<void>
}

/**
 * Sends the traffic of a scenario to the exports of its code, in the plainest way: all that is due is one list, which is
 * sorted again for each step. Shares no code with the run of the page.
 */
export async function runCode(
  { clock, decide, welcome }: Program,
  { traffic, use }: Ready,
): Promise<DecisionLine[]> {
  const lines: DecisionLine[] = []
  const known = new Set<string>()
  let due: Due[] = []

  const request = (at: number, tenant: string, attempt: number, own?: Use['used']): Due => ({
    at,
    rank: attempt === 1 ? 2 : 1,
    async act() {
      if (!known.has(tenant)) await welcome?.(tenant)
      known.add(tenant)
      const decision = await decide(tenant, own ?? use.estimated)
      const left = decision.policies.map(({ remaining }) => remaining)
      lines.push(lineOf(at, tenant, decision.allowed, decision.violated?.name, left))
      if (decision.allowed) {
        const end = at + decision.delayMs + use.lastsMs
        const act = async (): Promise<void> => void (await decision.settle?.(own ?? use.used))
        if (decision.settle) due.push({ at: end, rank: 0, act })
        return
      }
      const wait = traffic.retryIn(decision.retryAfterMs, attempt)
      if (wait !== undefined) due.push(request(at + wait, tenant, attempt + 1, own))
    },
  })

  due = traffic.arrivals.map(({ at, tenant, used }) => request(at, tenant, 1, used))
  for (;;) {
    due.sort((a, b) => a.at - b.at || a.rank - b.rank)
    const next = due.shift()
    if (!next) return lines
    clock.set(traffic.startMs + next.at)
    await next.act()
  }
}
