import type { Cost } from '../cost.ts'
import type { Decision, PolicyState } from '../decision.ts'
import type { Policy, PolicyRule } from '../policies/policy.ts'
import type { Store } from '../stores/store.ts'
import type { Subject } from '../subject.ts'
import { manualClock, type ManualClock } from '../clock.ts'
import { createLimiter, type Limiter } from '../limiter/limiter.ts'
import { listen } from '../limiter/listen.ts'
import { randomId } from '../internal/random-id.ts'
import { expectEqual, expectThat } from './suite.ts'

/** The middle of a day and of a minute, so that windows on a grid have time left. */
const NOON_MS = Date.UTC(2026, 0, 15, 12, 0, 30)

/** A limiter under a manual clock. Each of its decisions is verified. */
export interface Probe {
  readonly limiter: Limiter
  readonly clock: ManualClock
  /** A subject that no other test uses. */
  readonly subject: Subject
  readonly check: (cost?: Cost, subject?: Subject) => Promise<Decision>
  readonly peek: (cost?: Cost, subject?: Subject) => Promise<Decision>
  /** Makes `times` checks one after another. Each must be allowed. */
  readonly spend: (times: number, cost?: Cost, subject?: Subject) => Promise<void>
  /** Verifies a decision made in another way, such as by `reserve`. */
  readonly verify: <D extends Decision>(decision: D) => D
}

/** Returns a subject that no other test uses, in a store of any age. */
export const freshSubject = (): Subject => ({ tenant: `conformance-${randomId()}` })

/** Makes a limiter of these policies that verifies all its decisions. */
export function probe(
  store: Store,
  policies: readonly Policy[],
  clock: ManualClock = manualClock(NOON_MS),
): Probe {
  const ownSubject = freshSubject()
  let failure: unknown
  const extensions = [listen({ storeCall: ({ error }) => void (failure = error) })]
  const limiter = createLimiter({ store, policies, clock, extensions })

  function verify<D extends Decision>(decision: D): D {
    const { degraded, at } = decision
    if (degraded) {
      throw new Error(`The store failed (${degraded.cause}): ${String(failure)}`, {
        cause: failure,
      })
    }
    expectEqual(at, clock(), 'A store must decide by the time of the request (clockIsInjected)')
    decision.policies.forEach(verifyState)
    return decision
  }

  return {
    limiter,
    clock,
    subject: ownSubject,
    verify,
    check: async (cost, subject = ownSubject) => verify(await limiter.check(subject, { cost })),
    peek: async (cost, subject = ownSubject) => verify(await limiter.peek(subject, { cost })),
    async spend(times, cost, subject = ownSubject) {
      for (let time = 1; time <= times; time += 1) {
        const { allowed } = verify(await limiter.check(subject, { cost }))
        expectThat(allowed, `Check ${time} of ${times} must be allowed`)
      }
    },
  }
}

function verifyState(state: PolicyState): void {
  const { name, remaining, burst, resetMs, retryAfterMs, delayMs, fits, cost } = state
  const numbers = { remaining, resetMs, retryAfterMs: retryAfterMs ?? 0, delayMs }
  for (const [field, value] of Object.entries(numbers)) {
    const isWhole = Number.isSafeInteger(value) && value >= 0
    expectThat(isWhole, `${field} of "${name}" must be a whole number from 0: found ${value}`)
  }
  expectThat(remaining <= burst, `"${name}" has ${remaining} units left of ${burst}`)
  expectThat(fits || cost > 0, `A cost of 0 must fit "${name}"`)
  expectThat(!fits || retryAfterMs === 0, `retryAfterMs of "${name}" must be 0 if it fits`)
  expectThat(
    fits || retryAfterMs !== 0,
    `retryAfterMs of "${name}" must not be 0 if it does not fit`,
  )
}

/** Returns the units left in each policy, by name. */
export const remainingUnits = ({ policies }: Decision): Record<string, number> =>
  Object.fromEntries(policies.map(({ name, remaining: left }) => [name, left]))

/** Returns the names of the policies that were charged. */
export const chargedPolicies = ({ policies }: Decision): string[] =>
  policies.filter((state) => state.charged).map(({ name }) => name)

/** Makes `times` checks at once, and returns the number of those allowed. */
export async function allowedAtOnce(
  { check }: Probe,
  times: number,
  subject?: Subject,
): Promise<number> {
  const decisions = await Promise.all(Array.from({ length: times }, () => check(1, subject)))
  return decisions.filter(({ allowed }) => allowed).length
}

/** Throws unless the cost is denied until its retry time and allowed at it. Leaves the clock there. */
export async function expectExactRetry(
  { peek, clock }: Probe,
  cost: number,
  subject?: Subject,
): Promise<void> {
  const { allowed, retryAfterMs } = await peek(cost, subject)
  expectThat(!allowed && retryAfterMs !== null, `A cost of ${cost} must be denied for a while`)
  const wait = retryAfterMs ?? 0
  clock.advance(wait - 1)
  const early = await peek(cost, subject)
  expectThat(!early.allowed, `retryAfterMs is ${wait}: a millisecond earlier it must be denied`)
  clock.advance(1)
  const onTime = await peek(cost, subject)
  expectThat(onTime.allowed, `retryAfterMs is ${wait}: after that time it must be allowed`)
}

/** Returns the numbers of a rule for a request at this time, if it needs some. */
export function numbersAt({ numbers }: PolicyRule, now: number): object | undefined {
  const limits = { plan: {}, route: undefined, model: undefined }
  return numbers?.of({ subject: {}, limits, now, holdMs: 0, report: () => {} }, undefined)
}
