import { createLimiter, manualClock, type Decision, type Limiter, type Subject } from '@sluice/core'
import { cacheDenials } from '@sluice/core/cache-denials'
import { memory } from '@sluice/core/memory'
import { reserve } from '@sluice/core/reservations'
import * as fc from 'fast-check'
import { expect, it, vi } from 'vitest'
import { NOON } from '../support/times.ts'
import { events, moved, start, type Event } from './model/history.ts'
import { costOf } from './model/replay.ts'
import { policiesOf, rules, type Rule } from './model/rules.ts'

const SEED = 20_260_117
const LIMITERS = 2_000
const MAX_AGE_MS = 5_000

// A busy machine takes its time.
vi.setConfig({ testTimeout: 400_000 })

/** A wait that can be compared: a cost that never fits waits for ever. */
const waitOf = ({ retryAfterMs }: Decision): number => retryAfterMs ?? Infinity

/** A decision as the cache must make it: the wait may be shorter, and the policies stand as they last did. */
const comparable = (decision: Decision, isCached: boolean): unknown =>
  isCached
    ? {
        allowed: decision.allowed,
        at: decision.at,
        isNever: decision.retryAfterMs === null,
        names: decision.policies.map(({ name }) => name),
      }
    : decision

/** Lives through a history with the cache and without. Returns the number of cached decisions. */
async function replay(
  list: readonly Rule[],
  startMs: number,
  history: readonly Event[],
): Promise<number> {
  const clock = manualClock(startMs)
  const policies = policiesOf(list)
  const make = (store = memory()): Limiter => createLimiter({ store, policies, clock })
  const [plain, caching] = [make(), make(cacheDenials(memory(), { maxAgeMs: 1_000_000_000_000 }))]
  const told = { retryAt: startMs, resetAt: startMs }
  let cachedDenials = 0
  for (const { step, ask, apply } of history) {
    clock.set(moved(clock(), step, list, told))
    const options = { cost: costOf(ask, list) }
    const subject = { tenant: ask.tenant, route: ask.route }
    const decide = (limiter: Limiter): Promise<Decision> =>
      apply ? limiter.check(subject, options) : limiter.peek(subject, options)
    const expected = await decide(plain)
    const decision = await decide(caching)
    const isCached = decision.source === 'cache'
    if (isCached) cachedDenials += 1
    expect(comparable(decision, isCached)).toEqual(comparable(expected, isCached))
    expect(waitOf(decision)).toBeLessThanOrEqual(waitOf(expected))
    expect(decision.retryAfterMs === 0).toBe(decision.allowed)
    const resets = expected.policies.map(({ resetMs }) => resetMs)
    if (resets.length > 0) told.resetAt = clock() + Math.min(...resets)
    if (!expected.allowed) told.retryAt = clock() + (expected.retryAfterMs ?? 0)
  }
  return cachedDenials
}

it(`${LIMITERS} limiters decide alike with and without a cache of denials, if no units come back early`, async () => {
  let cachedDenials = 0
  const property = fc.asyncProperty(rules(5), start, events(40), async (...args) => {
    cachedDenials += await replay(...args)
  })
  await fc.assert(property, { seed: SEED, numRuns: LIMITERS })
  expect(cachedDenials).toBeGreaterThan(LIMITERS)
})

/** One step of two processes: the first checks; the other gives units back. */
interface Act {
  readonly waitMs: number
  readonly kind: 'check' | 'reset' | 'reserve' | 'settle' | 'reset here'
  readonly subject: Subject
  readonly cost: number
}

const acts: fc.Arbitrary<readonly Act[]> = fc.array(
  fc.record({
    waitMs: fc.constantFrom(0, 0, 0, 0, 0, 1, 700, 2_000, 4_999, 5_000),
    kind: fc.oneof(
      { weight: 12, arbitrary: fc.constant('check') },
      { weight: 4, arbitrary: fc.constantFrom('reset', 'settle') },
      { weight: 3, arbitrary: fc.constantFrom('reserve', 'reserve', 'reset here') },
    ),
    subject: fc.record({
      tenant: fc.constantFrom('a', 'a', 'a', 'b'),
      route: fc.constantFrom('x', 'x', 'x', 'y'),
    }),
    cost: fc.constantFrom(1, 1, 2, 5),
  }),
  { minLength: 20, maxLength: 60 },
)

/**
 * Lives through acts, and collects the age of each wrong denial since units last came back. One that must
 * not happen at all has the age Infinity: what is allowed wrongly, or denied after a reset here.
 */
async function agesOfWrongDenials(list: readonly Rule[], history: readonly Act[]) {
  const clock = manualClock(NOON)
  const policies = policiesOf(list)
  const counts = memory()
  const here = createLimiter({ store: cacheDenials(counts), policies, clock })
  const elsewhere = createLimiter({ store: counts, policies, clock })
  const open: Awaited<ReturnType<typeof reserve>>[] = []
  const ages: number[] = []
  let cameBackAt = -Infinity
  for (const { waitMs, kind, subject, cost } of history) {
    clock.advance(waitMs)
    if (kind === 'check') {
      const truth = await elsewhere.peek(subject, { cost })
      const { allowed } = await here.check(subject, { cost })
      if (allowed !== truth.allowed) ages.push(allowed ? Infinity : clock() - cameBackAt)
    } else if (kind === 'reserve') {
      open.push(await reserve(elsewhere, subject, { cost }))
    } else if (kind === 'reset here') {
      await here.reset(subject)
      const truth = await elsewhere.peek(subject)
      const { allowed } = await here.check(subject)
      if (allowed !== truth.allowed) ages.push(Infinity)
    } else {
      cameBackAt = clock()
      const call = open.pop()
      if (kind === 'reset') await elsewhere.reset(subject)
      else if (call?.allowed) await call.cancel()
    }
  }
  return ages
}

it('if units come back early elsewhere, no denial is wrong for 5 seconds, and none is allowed wrongly', async () => {
  const ages: number[] = []
  const plainRules = rules(1_000, 4).map((list) =>
    list.map((rule): Rule => ({ ...rule, unit: 'request' })),
  )
  const property = fc.asyncProperty(plainRules, acts, async (list, history) => {
    ages.push(...(await agesOfWrongDenials(list, history)))
  })
  await fc.assert(property, { seed: SEED, numRuns: 500 })
  expect(ages.length).toBeGreaterThan(50)
  expect(Math.max(...ages)).toBeLessThan(MAX_AGE_MS)
})
