/*
 * Decisions of several leased policies at one moment: one of them has units of a lease while the store denies another
 * policy. The units that it puts back are served on, or go back to the store.
 */
import {
  createLimiter,
  dailyCap,
  manualClock,
  type Limiter,
  type ManualClock,
  type Store,
} from '@sluice/core'
import { choices } from '@sluice/core/choices'
import { lease, leased, reserveFromLeases, type LeasedStore } from '@sluice/core/leases'
import { memory } from '@sluice/core/memory'
import { placeLeases } from '@sluice/core/place-leases'
import { reserve } from '@sluice/core/reservations'
import { sharded } from '@sluice/core/sharded'
import { describe, expect, it } from 'vitest'
import { NOON } from '../../support/times.ts'

const TENANT = { tenant: 'acme' }
const duration = { duration: '300ms' } as const
const capOf = (name: string, limit: number) =>
  dailyCap({ name, limit, per: 'global', unit: 'token' })

const LIMITS = { all: 200, two: 60 }
const CAPS = Object.entries(LIMITS).map(([name, limit]) => capOf(name, limit))
const FREE = { cost: { token: 0 } }
const SEEDS = 60

/** Has room for all, and tells choices apart. */
const EACH = dailyCap({ name: 'each', limit: 1e6, per: ['tenant', 'model'], onMissing: 'skip' })

/** Answers in a later turn, as a store does that is not in this process. */
const later = (store: Store): Store => ({
  ...store,
  async check(request) {
    await new Promise(setImmediate)
    const reply = await store.check(request)
    await new Promise(setImmediate)
    return reply
  },
})

const OWN = { shardBy: 'tenant', leases: placeLeases } as const

/** The stores that hold leases. Of two databases, one counts what they take. */
const STORES: Readonly<Record<string, (home: Store, other: Store) => LeasedStore>> = {
  leases: (home) => leased(home),
  'leases that are not fetched ahead': (home) => leased(home, { fetchAhead: false }),
  'leases that serve reservations': (home) => leased(home, { reservations: reserveFromLeases }),
  'leases of which one is held at a time': (home) => leased(home, { maxLeases: 1 }),
  'leases that serve reservations, of which one is held at a time': (home) =>
    leased(home, { maxLeases: 1, reservations: reserveFromLeases }),
  'leases of shards': (home, other) => sharded({ a: home, b: other }, OWN),
}

/** Asks for so many tokens. Returns those that it has used. */
const WAYS: Readonly<Record<string, (limiter: Limiter, token: number) => Promise<number>>> = {
  check: async (limiter, token) => {
    const { allowed } = await limiter.check(TENANT, { cost: { token } })
    return allowed ? token : 0
  },
  'check with choices': async (limiter, token) => {
    const list = choices(
      [token, 3 * token].map((one, at) => ({ subject: { model: `m${at}` }, cost: { token: one } })),
    )
    const { allowed, choice } = await limiter.check(TENANT, { choices: list })
    return allowed ? (choice === 0 ? token : 3 * token) : 0
  },
  'reserve, settled at its estimate': reserving((token) => token),
  'reserve, settled below it': reserving((token) => token >> 1),
  'reserve, settled above it': reserving((token) => token + 1),
}

/** Reserves, and settles in a later turn at what `usedOf` says. */
function reserving(usedOf: (token: number) => number) {
  return async (limiter: Limiter, token: number): Promise<number> => {
    const call = await reserve(limiter, TENANT, { cost: { token } })
    if (!call.allowed) return 0
    await turns(token % 3)
    await call.settle({ token: usedOf(token) })
    return usedOf(token)
  }
}

/** The same bursts of calls for a seed: small ones, which make blocks grow, and large ones, which are denied. */
function burstsOf(seed: number): number[][] {
  let state = seed
  const pick = (count: number): number => (state = (state * 48_271) % 2_147_483_647) % count
  const costs = [1, 1, 1, 2, 2, 5, 30, 55]
  return Array.from({ length: 6 + pick(8) }, () =>
    Array.from({ length: 1 + pick(5) }, () => costs[pick(costs.length)] ?? 1),
  )
}

const turns = async (count: number): Promise<void> => {
  for (let turn = 0; turn < count; turn += 1) await new Promise(setImmediate)
}

/** Returns the units that databases have counted, by policy. */
async function countedIn(databases: readonly Store[], clock: ManualClock): Promise<number[]> {
  const counts = databases.map(async (store) => {
    // Of a limit that settlements above their estimates do not reach.
    const policies = Object.keys(LIMITS).map((name) => capOf(name, 1e6))
    const peeked = await createLimiter({ store, policies, clock }).peek(TENANT, FREE)
    return peeked.policies.map(({ limit, remaining }) => limit - remaining)
  })
  const all = await Promise.all(counts)
  return CAPS.map((_, at) => all.reduce((sum, own) => sum + (own[at] ?? 0), 0))
}

describe.each(Object.entries(STORES))('%s', (_, make) => {
  it.each(Object.entries(WAYS))(
    'hold or give back all that a denial puts back: %s',
    async (__, ask) => {
      const lost: unknown[] = []
      for (let seed = 1; seed <= SEEDS; seed += 1) {
        const clock = manualClock(NOON)
        const databases = [later(memory()), later(memory())] as const
        const store = make(...databases)
        const policies = [...CAPS.map((cap) => lease(cap, duration)), EACH]
        const limiter = createLimiter({ store, policies, clock, onStoreError: 'deny' }) as Limiter
        let allowed = 0
        for (const burst of burstsOf(seed)) {
          const answers = await Promise.all(burst.map((token) => ask(limiter, token)))
          allowed = answers.reduce((sum, token) => sum + token, allowed)
          clock.advance(20)
        }
        // Units go back in the background.
        await store.returnUnits()
        await turns(20)
        const counted = await countedIn(databases, clock)
        if (counted.some((units) => units !== allowed)) lost.push({ seed, allowed, counted })
      }
      expect(lost).toEqual([])
    },
  )
})
