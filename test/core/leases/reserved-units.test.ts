import { createLimiter, fixedWindow, manualClock, type Policy } from '@sluice/core'
import { lease, leased, reserveFromLeases } from '@sluice/core/leases'
import { memory } from '@sluice/core/memory'
import { fitRange, reserve, type Reservation } from '@sluice/core/reservations'
import {
  array,
  assert,
  asyncProperty,
  boolean,
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
import { settled, SharedStore } from './support.ts'

const SEED = 20_261_126
const LIMIT = 400
const options = { limit: LIMIT, unit: 'token', window: '1h' } as const
const LEASED = lease(fixedWindow({ name: 'all', ...options, per: 'global' }), { most: 16 })
/** All from leases, and with a policy of each tenant that the store counts. */
const SETS: Record<string, readonly Policy[]> = {
  'from leases alone': [LEASED],
  'and in the store': [LEASED, fixedWindow({ name: 'own', ...options, per: ['tenant'] })],
}

/** One step of random traffic on three processes. */
interface Step {
  readonly afterMs: number
  readonly process: number
  readonly tenant: string
  readonly cost: number
  readonly act: 'check' | 'reserve' | 'fit' | 'settle' | 'kill' | 'shut down'
  /** The call to settle, and what it has used beside its estimate. */
  readonly call: number
  readonly more: number
  readonly isRepeated: boolean
}

const steps = (...acts: Step['act'][]) =>
  array(
    record<Step>({
      afterMs: oneof(constant(0), nat(60), nat(1_500)),
      process: nat(2),
      tenant: constantFrom('a', 'b'),
      cost: integer({ min: 0, max: 12 }),
      act: oneof(
        { weight: 8, arbitrary: constant('check' as const) },
        { weight: 20, arbitrary: constant('reserve' as const) },
        { weight: 8, arbitrary: constant('fit' as const) },
        { weight: 20, arbitrary: constant('settle' as const) },
        constantFrom(...acts),
      ),
      call: nat(20),
      more: integer({ min: -12, max: 6 }),
      isRepeated: boolean(),
    }),
    { minLength: 30, maxLength: 150 },
  )

const FIT = fitRange({ floor: 2, most: 20, rates: { token: 1_000_000 } })

interface Open {
  readonly process: number
  readonly units: number
  readonly call: Reservation
}

/** Runs the traffic. Returns the units in use as its callers know them, and as the store has them at the end. */
async function run(policies: readonly Policy[], shared: SharedStore, traffic: readonly Step[]) {
  const clock = manualClock(NOON)
  const start = () => {
    const store = leased(shared, { reservations: reserveFromLeases })
    return { store, limiter: createLimiter({ store, policies, clock, onStoreError: 'deny' }) }
  }
  const processes = [start(), start(), start()]
  const open: Open[] = []
  // Units used, those of them beyond an estimate, and the calls that leases have served.
  let [used, overrun, leasedCalls] = [0, 0, 0]
  const take = (units: number): void => {
    used += units
    expect(used - overrun).toBeLessThanOrEqual(LIMIT)
  }
  const end = async ({ units, call }: Open, actual: number, isRepeated: boolean): Promise<void> => {
    const { applied } = await call.settle({ token: actual })
    expect(applied).toBe(true)
    used += actual - units
    overrun += Math.max(0, actual - units)
    const repeated = isRepeated ? await call.settle({ token: 0 }) : undefined
    expect(repeated?.why ?? 'settled_before').toBe('settled_before')
  }
  for (const { afterMs, process, tenant, cost, act, call: which, more, isRepeated } of traffic) {
    clock.advance(afterMs)
    const { limiter, store } = processes[process] as ReturnType<typeof start>
    if (act === 'check') {
      if ((await limiter.check({ tenant }, { cost: { token: cost } })).allowed) take(cost)
    } else if (act === 'reserve' || act === 'fit') {
      const fit = act === 'fit' ? FIT : undefined
      const call = await reserve(limiter, { tenant }, { cost: { token: cost }, fit } as never)
      if (call.allowed) {
        const units = cost + ((call as { granted?: number }).granted ?? 0)
        take(units)
        if (call.source === 'lease') leasedCalls += 1
        open.push({ process, units, call })
      }
    } else if (act === 'settle') {
      const [one] = open.splice(which % Math.max(1, open.length), 1)
      if (one) await end(one, Math.max(0, one.units + more), isRepeated)
    } else if (act === 'shut down') {
      await store.returnUnits()
    } else {
      processes[process] = start()
      for (const one of open.splice(0)) {
        // Units of a process that dies stay in use.
        if (one.process !== process) open.push(one)
      }
    }
    await shared.idle()
  }
  for (const one of open) await end(one, one.units, false)
  for (const { store } of processes) await store.returnUnits()
  await settled()
  await shared.idle()
  const meter = createLimiter({ store: leased(shared), policies, clock })
  const { policies: states } = await meter.peek({ tenant: 'a' }, { cost: { token: 0 } })
  const all = states.find(({ name }) => name === 'all')
  return { used, leasedCalls, overrun, counted: LIMIT - (all?.remaining ?? Number.NaN) }
}

const redis = sharedRedis()
const STORES = { memory: () => memory(), Redis: () => redis.store() }

describe.each(Object.keys(SETS))('reservations %s', (set) => {
  describe.each(Object.entries(STORES))('of several processes on %s', (name, make) => {
    const numRuns = name === 'memory' ? 200 : 15
    let fromLeases = 0

    it('are never above the limit, and the store counts in the end what was used', async () => {
      await assert(
        asyncProperty(steps('shut down'), async (traffic) => {
          const { used, overrun, counted, leasedCalls } = await run(
            SETS[set] ?? [],
            new SharedStore(make()),
            traffic,
          )
          fromLeases += leasedCalls
          // `remaining` is 0 at least. Only an overrun is above the limit.
          expect(counted).toBe(Math.min(used, LIMIT))
          expect(used - overrun).toBeLessThanOrEqual(LIMIT)
        }),
        { numRuns, seed: SEED },
      )
      expect(fromLeases > 0).toBe(set === 'from leases alone')
    })

    it('are never above the limit if processes die, whose units stay charged', async () => {
      await assert(
        asyncProperty(steps('shut down', 'kill', 'kill'), async (traffic) => {
          const { used, counted } = await run(SETS[set] ?? [], new SharedStore(make()), traffic)
          expect(counted).toBeGreaterThanOrEqual(Math.min(used, LIMIT))
        }),
        { numRuns, seed: SEED },
      )
    })
  })
})
