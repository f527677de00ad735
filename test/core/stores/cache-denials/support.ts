import type { Decision, Limiter, LimiterOptions, ManualClock, Subject } from '@sluice/core'
import { cacheDenials, type CacheDenialsOptions } from '@sluice/core/cache-denials'
import { memory } from '@sluice/core/memory'
import { ACME, setUp, type SetUpOptions } from '../../../support/limiters.ts'
import { callsOf, Watched } from '../../../support/watched-store.ts'

/** A limiter that caches denials, another process on the same counts, and the calls of the first. */
interface Setup {
  readonly limiter: Limiter
  readonly elsewhere: Limiter
  readonly clock: ManualClock
  readonly store: Watched
  /** The decisions that the store makes during an act. */
  readonly calls: (act: () => Promise<unknown>) => Promise<number>
}

export function setUpCache(
  policies: LimiterOptions['policies'],
  cache: CacheDenialsOptions = {},
  options: SetUpOptions = {},
): Setup {
  const counts = memory()
  const store = new Watched(counts)
  const { limiter, clock } = setUp(policies, { store: cacheDenials(store, cache), ...options })
  return {
    limiter,
    elsewhere: setUp(policies, { store: counts, clock }).limiter,
    clock,
    store,
    calls: async (act) => (await callsOf(store, act)).decisions,
  }
}

/** Checks until a check is denied by the store. Returns that decision. */
export async function exhaust(
  limiter: Limiter,
  subject: Subject = ACME,
  cost?: Record<string, number>,
): Promise<Decision> {
  for (;;) {
    const decision = await limiter.check(subject, cost === undefined ? {} : { cost })
    if (!decision.allowed) return decision
  }
}
