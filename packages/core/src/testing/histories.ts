import type { Algorithm } from '../algorithms/algorithm.ts'
import type { Decision } from '../decision.ts'
import type { Policy } from '../policies/policy.ts'
import type { Store } from '../stores/store.ts'
import { reserve } from '../reservations/reserve.ts'
import { memory } from '../stores/memory.ts'
import { freshSubject, probe } from './probe.ts'
import { expectEqual, type MakeStore } from './suite.ts'

const STEPS = 40

type Random = (below: number) => number

/** Pseudo-random numbers, the same for the same seed (mulberry32). */
function seededRandom(seed: number): Random {
  let state = seed
  return (below) => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * below)
  }
}

/**
 * Throws unless all stores decide alike over the same random histories: costs, pauses, retries at the very
 * millisecond, clocks that step back, settlements. One more store never drops a state, so that a state
 * dropped too early shows as a difference.
 */
export async function replaysAlike(
  policy: Policy,
  makeStores: Readonly<Record<string, MakeStore>>,
  histories: number,
  isSettled: boolean,
): Promise<void> {
  const stores = await Promise.all(
    Object.entries(makeStores).map(async ([name, make]) => ({ name, policy, store: await make() })),
  )
  stores.push({
    name: 'a store that forgets nothing',
    policy: neverExpiring(policy),
    store: memory(),
  })
  for (let seed = 1; seed <= histories; seed += 1) {
    let expected: { name: string; log: readonly string[] } | undefined
    for (const { name, policy: tested, store } of stores) {
      const log = await replay(store, tested, seededRandom(seed), isSettled)
      expected ??= { name, log }
      for (const [step, line] of log.entries()) {
        const where = `Step ${step + 1} of history ${seed}, in ${name} beside ${expected.name}`
        expectEqual(line, expected.log[step], where)
      }
    }
  }
}

const HOUR_MS = 3_600_000

/** Runs one history, and returns the outcome of each step. */
async function replay(
  store: Store,
  policy: Policy,
  random: Random,
  isSettled: boolean,
): Promise<string[]> {
  const { limiter, clock, check, peek, verify } = probe(store, [policy])
  const windowMs = policy()[0]?.windowMs ?? 1
  const routes = ['small', 'large']
  const subjects = [freshSubject(), freshSubject()]
  const log: string[] = []
  let retryMs = 1
  for (let step = 0; step < STEPS; step += 1) {
    clock.advance(pauseOf(random, windowMs, retryMs))
    const subject = { ...subjects[random(2)], route: routes[random(2)] }
    const cost = random(10) === 0 ? 30 : random(5)
    const action = random(isSettled ? 5 : 4)
    let decision: Decision
    if (action === 4) {
      const settleWithin = Math.max(HOUR_MS, windowMs)
      const call = verify(await reserve(limiter, subject, { cost, settleWithin }))
      decision = call
      if (call.allowed) {
        clock.advance(random(Math.ceil(windowMs / 3)))
        log.push(JSON.stringify(await call.settle({ request: random(8) })))
      }
    } else {
      decision = await (action === 0 ? peek : check)(cost, subject)
    }
    const { allowed, reason, retryAfterMs, delayMs, policies } = decision
    if (retryAfterMs !== null && retryAfterMs > 0) retryMs = retryAfterMs
    log.push(JSON.stringify({ cost, allowed, reason, delayMs, policies }))
  }
  return log
}

function pauseOf(random: Random, windowMs: number, retryMs: number): number {
  const pauses = [
    0,
    1,
    retryMs,
    retryMs - 1,
    random(Math.ceil(windowMs / 5)),
    random(2 * windowMs),
    -random(Math.ceil(windowMs / 10)),
  ]
  return pauses[random(pauses.length)] ?? 0
}

/** The same policy, with states that never expire. */
function neverExpiring(policy: Policy): Policy {
  const rules = policy().map((rule) =>
    Object.freeze({ ...rule, algorithm: withoutExpiry(rule.algorithm) }),
  )
  return () => rules
}

function withoutExpiry(algorithm: Algorithm): Algorithm {
  const { id, settlement } = algorithm
  return {
    id,
    check: (...args) => algorithm.check(...args),
    add: (...args) => ({ ...algorithm.add(...args), expiresAt: Infinity }),
    lua: (params) => algorithm.lua(params),
    ...(settlement && {
      settlement: {
        ...settlement,
        lua: (params) => settlement.lua(params),
        settle(...args) {
          const corrected = settlement.settle(...args)
          return corrected && { ...corrected, expiresAt: Infinity }
        },
      },
    }),
  }
}
