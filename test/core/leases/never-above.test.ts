import { createLimiter, fixedWindow, manualClock, slidingWindow, type Policy } from '@sluice/core'
import { lease, leased, type LeasedOptions, type LeasedStore } from '@sluice/core/leases'
import { memory } from '@sluice/core/memory'
import {
  array,
  assert,
  asyncProperty,
  constant,
  constantFrom,
  integer,
  nat,
  oneof,
  record,
} from 'fast-check'
import { describe, expect, it } from 'vitest'
import { sharedRedis } from '../../support/running-redis.ts'
import { NOON } from '../../support/times.ts'
import { SharedStore } from './support.ts'

const SEED = 20_261_122
const WINDOW = 10_000
const LEASE = 1_000
const LIMIT = 40
const options = { limit: LIMIT, window: WINDOW, per: ['tenant'] } as const
const terms = { duration: LEASE, most: 16 }
const SLIDING = [lease(slidingWindow({ name: 'sliding', ...options }), terms)]
const FIXED = [lease(fixedWindow({ name: 'fixed', ...options }), terms)]
const TIERS = [
  ...SLIDING,
  lease(slidingWindow({ name: 'all', ...options, limit: 60, per: 'global' }), {
    duration: '500ms',
  }),
  fixedWindow({ name: 'plain', ...options, limit: 35 }),
]

/** One step of random traffic on several processes. */
interface Step {
  readonly afterMs: number
  readonly process: number
  readonly tenant: string
  readonly cost: number
  readonly act: 'check' | 'kill' | 'shut down'
}

/** Units that were let through. */
interface Passed {
  readonly at: number
  readonly tenant: string
  readonly cost: number
}

const step = (acts: readonly Step['act'][]) =>
  record<Step>({
    afterMs: oneof(constant(0), nat(60), nat(1_500), nat(12_000)),
    process: nat(2),
    tenant: constantFrom('a', 'b'),
    cost: oneof(constant(1), integer({ min: 1, max: 5 })),
    act: oneof({ weight: 40, arbitrary: constant('check' as const) }, constantFrom(...acts)),
  })

const traffic = (...acts: Step['act'][]) => array(step(acts), { minLength: 30, maxLength: 150 })

/** Runs the traffic on three processes that share a store. Returns what passed, and every answer. */
async function run(
  policies: readonly Policy[],
  shared: SharedStore,
  steps: readonly Step[],
  leases: LeasedOptions = {},
) {
  const clock = manualClock(NOON)
  const start = () => {
    const store = leased(shared, leases)
    return { store, limiter: createLimiter({ store, policies, clock, onStoreError: 'deny' }) }
  }
  const processes = [start(), start(), start()]
  const passed: Passed[] = []
  const answers: unknown[] = []
  for (const { afterMs, process, tenant, cost, act } of steps) {
    clock.advance(afterMs)
    const one = processes[process] as {
      store: LeasedStore
      limiter: ReturnType<typeof createLimiter>
    }
    if (act === 'check') {
      const {
        allowed,
        policies: states,
        degraded,
        retryAfterMs,
      } = await one.limiter.check({ tenant }, { cost })
      if (allowed) passed.push({ at: clock(), tenant, cost })
      answers.push({ allowed, states, degraded, retryAfterMs })
    } else {
      if (act === 'shut down') await one.store.returnUnits()
      processes[process] = start()
    }
    await shared.idle()
  }
  return { passed, answers, clock, processes }
}

/** The units of a tenant that passed in `(from, to]`. */
const unitsIn = (passed: readonly Passed[], tenant: string | undefined, from: number, to: number) =>
  passed
    .filter((one) => (tenant ?? one.tenant) === one.tenant && one.at > from && one.at <= to)
    .reduce((sum, { cost }) => sum + cost, 0)

/** The most units of one tenant, or of all, in any stretch as long as a window. */
const mostInWindow = (passed: readonly Passed[], tenant?: string): number =>
  Math.max(0, ...passed.map(({ at }) => unitsIn(passed, tenant, at - WINDOW, at)))

const redis = sharedRedis()
const STORES = { memory: () => memory(), Redis: () => redis.store() }

describe.each(Object.entries(STORES))(
  'leases of several processes on %s, some of them killed,',
  (name, make) => {
    const numRuns = name === 'memory' ? 150 : 8

    it('never let more than the limit of a sliding window through', async () => {
      await assert(
        asyncProperty(traffic('kill', 'shut down'), async (steps) => {
          const { passed } = await run(SLIDING, new SharedStore(make()), steps)
          for (const tenant of ['a', 'b'])
            expect(mostInWindow(passed, tenant)).toBeLessThanOrEqual(LIMIT)
        }),
        { numRuns, seed: SEED },
      )
    })

    it('never let more than the limit of a fixed window through', async () => {
      await assert(
        asyncProperty(traffic('kill', 'shut down'), async (steps) => {
          const { passed } = await run(FIXED, new SharedStore(make()), steps)
          for (const { at, tenant } of passed) {
            const begin = at - (at % WINDOW)
            expect(unitsIn(passed, tenant, begin - 1, begin + WINDOW - 1)).toBeLessThanOrEqual(
              LIMIT,
            )
          }
        }),
        { numRuns, seed: SEED },
      )
    })

    it('hold every policy of a decision', async () => {
      await assert(
        asyncProperty(traffic('kill', 'shut down'), async (steps) => {
          const { passed } = await run(TIERS, new SharedStore(make()), steps)
          expect(mostInWindow(passed)).toBeLessThanOrEqual(60)
          for (const tenant of ['a', 'b'])
            expect(mostInWindow(passed, tenant)).toBeLessThanOrEqual(40)
        }),
        { numRuns, seed: SEED },
      )
    })
  },
)

it('units served at the end of a lease count until they have left the window', async () => {
  const shared = new SharedStore()
  const steps: Step[] = []
  const check = (process: number, times: number, afterMs = 0) => {
    for (let time = 0; time < times; time += 1) {
      steps.push({ afterMs: time === 0 ? afterMs : 0, process, tenant: 'a', cost: 1, act: 'check' })
    }
  }
  // Blocks of 1, 2, 4 and 8 units, of which eight are served just before their lease ends.
  check(0, 7)
  check(0, 8, LEASE - 2)
  check(1, 25)
  check(1, 40, WINDOW - LEASE + 3)
  const { passed } = await run(SLIDING, shared, steps, { fetchAhead: false })
  expect(passed).toHaveLength(40)
  expect(mostInWindow(passed)).toBe(40)
})

it('once all units are back, what is left lies between the window and one that is longer by the lease', async () => {
  await assert(
    asyncProperty(traffic('shut down'), async (steps) => {
      const { passed, processes, clock } = await run(SLIDING, new SharedStore(), steps)
      for (const { store } of processes) await store.returnUnits()
      const used = (stretch: number) => unitsIn(passed, 'a', clock() - stretch, clock())
      const { limiter } = processes[0] as (typeof processes)[0]
      const { policies } = await limiter.peek({ tenant: 'a' })
      expect(policies[0]?.remaining).toBeLessThanOrEqual(LIMIT - used(WINDOW))
      expect(policies[0]?.remaining).toBeGreaterThanOrEqual(LIMIT - used(WINDOW + LEASE))
    }),
    { numRuns: 150, seed: SEED },
  )
})

it('leases decide alike on Redis and in memory', async () => {
  await assert(
    asyncProperty(traffic('kill', 'shut down'), async (steps) => {
      const [inMemory, inRedis] = [
        await run(TIERS, new SharedStore(), steps),
        await run(TIERS, new SharedStore(redis.store()), steps),
      ]
      expect(inRedis.answers).toEqual(inMemory.answers)
      expect(JSON.stringify(inRedis.answers)).not.toContain('"cause"')
    }),
    { numRuns: 10, seed: SEED },
  )
})
