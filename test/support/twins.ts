import { createLimiter, manualClock, type Decision, type Policy, type Store } from '@sluice/core'
import { memory } from '@sluice/core/memory'
import { reserve } from '@sluice/core/reservations'
import { expect } from 'vitest'

/** One step of a history: what is asked of the limiter, and the milliseconds that pass before it. */
export interface Step {
  readonly afterMs: number
  readonly cost: number
  readonly act: 'check' | 'peek' | 'reserve'
  readonly route?: string
  /** The milliseconds until a reservation is settled. @default `afterMs` */
  readonly settleAfterMs?: number
}

/** The use of reservations of 2, one after another: less, as much, more, nothing, twice as much. */
export const USED = [1, 2, 3, 0, 4]

/** The same steps each time: enough to spend 10 of everything, and for some of it to come back. */
const STEPS: readonly Step[] = Array.from({ length: 36 }, (_, index) => ({
  afterMs: [0, 1, 700, 2_500, 9_000, 0, 31_000][index % 7] ?? 0,
  cost: index % 3 === 1 ? 2 : 1,
  act: index % 4 === 1 ? 'reserve' : index % 9 === 8 ? 'peek' : 'check',
  route: index % 5 === 2 ? 'other' : 'chat',
}))

/** A decision, whoever answered. */
const withoutSource = (decision: Decision): object => ({ ...decision, source: undefined })

/** The answers of a limiter over this store to a history, including settlements. */
async function answersOf(
  policies: readonly Policy[],
  store: Store,
  steps: readonly Step[],
): Promise<unknown[]> {
  const clock = manualClock(Date.UTC(2026, 0, 15, 12))
  const limiter = createLimiter({ store, policies, clock, onStoreError: 'deny' })
  const all: unknown[] = []
  let settled = 0
  for (const { afterMs, cost, act, route, settleAfterMs } of steps) {
    clock.advance(afterMs)
    const subject = { tenant: 'acme', route }
    if (act !== 'reserve') {
      all.push(withoutSource(await limiter[act](subject, { cost })))
      continue
    }
    const decision = await reserve(limiter, subject, { cost: { request: 2 } })
    const { allowed, reason, retryAfterMs, policies: states, degraded } = decision
    all.push({ allowed, reason, retryAfterMs, states, degraded })
    if (!decision.allowed) continue
    clock.advance(settleAfterMs ?? afterMs)
    const settlement = await decision.settle({ request: USED[settled % USED.length] ?? 0 })
    // By an injected clock a key in Redis outlives its window: there is then something to give back.
    const { applied, overrun } = settlement
    all.push(settleAfterMs === undefined ? settlement : { applied, overrun })
    settled += 1
  }
  return all
}

/** Expects a store to say in a history what memory says, and never to be refused. */
export async function decidesLikeMemory(
  policies: readonly Policy[],
  store: Store,
  steps: readonly Step[] = STEPS,
): Promise<unknown[]> {
  const [here, there] = [
    await answersOf(policies, memory(), steps),
    await answersOf(policies, store, steps),
  ]
  expect(there).toEqual(here)
  expect(JSON.stringify(there)).not.toContain('"cause"')
  return there
}
