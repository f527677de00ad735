import {
  concurrency,
  createLimiter,
  dailyCap,
  definePlans,
  fixedWindow,
  manualClock,
  slidingWindow,
  type Decision,
} from '@sluice/core'
import { planResolver } from '@sluice/core/plans'
import { lease, leased } from '@sluice/core/leases'
import { fitRange, release, reserve } from '@sluice/core/reservations'
import { objectLeases } from '@sluice/cloudflare/durable-object'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { durableObjects } from '../../../packages/cloudflare/dist/durable-object/durable-objects.js'
import { objectsInProcess } from '../../support/objects.ts'
import type { Namespace } from '../../support/remote-objects.ts'
import { freshPrefix } from '../../support/stores.ts'
import { NOON } from '../../support/times.ts'
import { startWorkerdObjects, type WorkerdObjects } from '../../support/workerd-objects.ts'

// Only workerd has this module.
vi.mock('cloudflare:workers', () => ({ DurableObject: Object }))

const LIMIT = 500
const everyone = slidingWindow({ name: 'everyone', limit: LIMIT, window: '1h', per: 'global' })
const own = slidingWindow({ name: 'own', limit: 200, window: '1h', per: ['tenant'] })
const TOKENS = { name: 'tokens', window: '1d', unit: 'token', per: 'global' } as const
const tokens = fixedWindow({ ...TOKENS, limit: 100_000 })

const FIT = fitRange({ floor: 10, most: 5_000, rates: { token: 1_000_000 } })

/** A binding that counts the calls to each object. */
function counting(namespace: Namespace) {
  const calls = new Map<string, number>()
  return {
    calls,
    namespace: {
      idFromName: (name: string) => namespace.idFromName(name),
      get(id: unknown) {
        const name = String(id)
        const object = namespace.get(id)
        return {
          sluice(message: string) {
            calls.set(name, (calls.get(name) ?? 0) + 1)
            return object.sluice(message)
          },
        }
      },
    },
  }
}

/** Resolves after so many turns of the microtasks. */
async function inTurns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn += 1) await Promise.resolve()
}

let workerd: WorkerdObjects

beforeAll(async () => {
  workerd = await startWorkerdObjects()
})
afterAll(() => workerd[Symbol.asyncDispose]())

const WHERE: Record<string, () => Namespace> = {
  'in this process': () => objectsInProcess({ leases: objectLeases }).namespace,
  'in workerd': () => workerd.namespace,
}

describe.each(Object.entries(WHERE).map(([where, open]) => ({ where, open })))(
  'a limit for everyone, leased by the objects of tenants $where',
  ({ open }) => {
    const make = (
      policies: Parameters<typeof createLimiter>[0]['policies'],
      clock?: () => number,
    ) => {
      const { namespace, calls } = counting(open())
      const store = durableObjects(namespace, { timeoutMs: 30_000, prefix: freshPrefix() })
      const limiter = createLimiter({
        store,
        policies,
        onStoreError: 'deny',
        ...(clock && { clock }),
      })
      return { limiter, calls }
    }

    it('is never exceeded by tenants that ask at once, and hardly left unused', async () => {
      const { limiter } = make([own, lease(everyone)])
      const tenants = Array.from({ length: 5 }, (_, tenant) => `t${tenant}`)
      let allowed = 0
      const violated = new Set<string | undefined>()
      const decisions: Decision[] = []
      for (let round = 0; round < 20; round += 1) {
        const checks = tenants.flatMap((tenant) =>
          Array.from({ length: 8 }, () => limiter.check({ tenant })),
        )
        decisions.push(...(await Promise.all(checks)))
      }
      for (const decision of decisions) {
        expect(decision.degraded).toBeUndefined()
        expect(decision.policies).toHaveLength(2)
        if (decision.allowed) allowed += 1
        violated.add(decision.violated?.name)
      }
      expect(violated).toEqual(new Set([undefined, 'everyone']))
      expect(allowed).toBeLessThanOrEqual(LIMIT)
      expect(allowed).toBeGreaterThan(LIMIT * 0.9)
    })

    it('is one call a decision for the Worker', async () => {
      const { limiter, calls } = make([own, lease(everyone)])
      for (let call = 0; call < 50; call += 1) await limiter.check({ tenant: 'acme' })
      // Those to `home` are the object's own.
      expect([...calls.values()]).toEqual([50])
    })

    it('charges all policies of a call or none, also while a call in flight ends', async () => {
      const inFlight = concurrency({ name: 'calls', limit: 1, per: ['tenant'] })
      const { limiter } = make([inFlight, lease(everyone, { most: 1 })])
      let isAllowed = 0
      for (let turns = 0; turns < 40; turns += 1) {
        const subject = { tenant: `t${turns}` }
        const first = await reserve(limiter, subject)
        const [second] = await Promise.all([
          inTurns(8).then(() => reserve(limiter, subject)),
          inTurns(turns).then(async () => {
            if (first.allowed) await first.settle({ request: 1 })
          }),
        ])
        if (!second.allowed) continue
        isAllowed += 1
        expect(second.policies.map(({ charged }) => charged)).toEqual([true, true])
      }
      expect(isAllowed).toBeGreaterThan(0)
    })

    it('denies what the tenant’s own policies deny, and gives nothing of it away', async () => {
      const small = slidingWindow({ name: 'small', limit: 3, window: '1h', per: ['tenant'] })
      const { limiter } = make([small, lease(everyone, { most: 1 })])
      const decisions: Decision[] = []
      for (let call = 0; call < 20; call += 1)
        decisions.push(await limiter.check({ tenant: 'acme' }))
      expect(decisions.filter(({ allowed }) => allowed)).toHaveLength(3)
      expect(decisions.at(-1)).toMatchObject({ violated: { name: 'small' }, policies: [{}, {}] })
    })

    it('is reserved and settled with the tenant’s own, and what is not used comes back', async () => {
      const { limiter } = make([own, lease(tokens)])
      for (let call = 0; call < 150; call += 1) {
        // In all 150,000 are reserved, of a limit of 100,000, and 15,000 are used.
        const made = await reserve(limiter, { tenant: `t${call % 3}` }, { cost: { token: 1_000 } })
        expect(made).toMatchObject({ allowed: true, degraded: undefined })
        const settled = made.allowed ? await made.settle({ token: 100 }) : undefined
        expect(settled).toMatchObject({ applied: true, returned: { token: 900 } })
      }
    })

    it('is charged what a call has used beyond its estimate', async () => {
      const few = fixedWindow({ ...TOKENS, name: 'few', limit: 1_000 })
      const { limiter } = make([own, lease(few)])
      const made = await reserve(limiter, { tenant: 'a' }, { cost: { token: 100 } })
      expect(made.allowed && (await made.settle({ token: 950 })).overrun).toEqual({ token: 850 })
      const next = await reserve(limiter, { tenant: 'b' }, { cost: { token: 100 } })
      expect(next).toMatchObject({ allowed: false, violated: { name: 'few' } })
    })

    it('grants to a range what home and the tenant have', async () => {
      const few = fixedWindow({ ...TOKENS, name: 'few', limit: 1_000 })
      const cap = dailyCap({ name: 'cap', limit: 600, unit: 'token', per: ['tenant'] })
      const { limiter } = make([cap, lease(few)])
      const first = await reserve(limiter, { tenant: 'a' }, { cost: {}, fit: FIT })
      expect(first).toMatchObject({ allowed: true, granted: 600 })
      const second = await reserve(limiter, { tenant: 'b' }, { cost: {}, fit: FIT })
      expect(second).toMatchObject({ allowed: true, granted: 400 })
    })

    it('cannot be reserved with a release, which says so', async () => {
      const { limiter } = make([own, lease(tokens)])
      const reserving = reserve(
        limiter,
        { tenant: 'a' },
        { cost: { token: 1 }, unsettled: release() },
      )
      await expect(reserving).rejects.toThrow(
        /unsettled: must be left out: the leased policy "tokens"/,
      )
    })

    it('is counted by home alone where no policy counts by tenant', async () => {
      const { limiter, calls } = make([lease(everyone)])
      for (let call = 0; call < 5; call += 1) {
        expect(await limiter.check({})).toMatchObject({
          allowed: true,
          policies: [{ remaining: LIMIT - call - 1 }],
        })
      }
      expect([...calls.keys()]).toHaveLength(1)
      expect([...calls.keys()][0]).toMatch(/\/home$/)
    })
  },
)

it('an object that dies with a block and with reservations exceeds nothing, and is still settled', async () => {
  const objects = objectsInProcess({ leases: objectLeases })
  const few = fixedWindow({ ...TOKENS, name: 'few', limit: 20_000 })
  const policies = [own, lease(few)]
  const limiter = createLimiter({ store: objects.store(), policies, onStoreError: 'deny' })
  let reserved = 0
  const open: {
    settle(used: { token: number }): Promise<{ applied: boolean; overrun: object }>
  }[] = []
  for (let call = 0; call < 60; call += 1) {
    const made = await reserve(limiter, { tenant: 'a' }, { cost: { token: 1_000 } })
    if (call % 5 === 4) objects.restart()
    if (!made.allowed) continue
    reserved += 1_000
    open.push(made)
  }
  expect(reserved).toBeLessThanOrEqual(20_000)
  // Blocks were lost with the object, but not all of them.
  expect(reserved).toBeGreaterThan(5_000)
  objects.restart()
  // Home fails at first.
  const { namespace } = objects
  const get = namespace.get.bind(namespace)
  let failures = 2
  namespace.get = (id) =>
    String(id) === 'home' && failures-- > 0
      ? { sluice: () => Promise.reject(new Error('Network connection lost.')) }
      : get(id)
  const settled = await Promise.all(open.map((call) => call.settle({ token: 1_200 })))
  for (const one of settled) expect(one).toMatchObject({ applied: true, overrun: { token: 200 } })
  // Use beyond the estimates is charged in home.
  const direct = createLimiter({
    store: objects.store({ shardBy: 'global' }),
    policies: [lease(few)],
  })
  const left = await direct.peek({}, { cost: { token: 0 } })
  expect(left.policies[0]?.remaining).toBeLessThanOrEqual(Math.max(0, 20_000 - reserved * 1.2))
})

it('a reservation of leased policies alone is settled in home, also if a plan is read with it', async () => {
  const clock = manualClock(NOON)
  const limiter = createLimiter({
    store: objectsInProcess({ leases: objectLeases }, clock).store(),
    plans: definePlans({ free: { tokens: 100_000 } }),
    policies: [lease(fixedWindow({ ...TOKENS, limit: ({ plan }) => plan.tokens }))],
    extensions: [planResolver(async () => 'free')],
    clock,
  })
  for (let call = 0; call < 3; call += 1) {
    // The plan is read again after five seconds.
    clock.advance(6_000)
    const made = await reserve(limiter, { tenant: 'a' }, { cost: { token: 100 } })
    const settled = made.allowed ? await made.settle({ token: 10 }) : undefined
    expect(settled).toMatchObject({ applied: true, returned: { token: 90 } })
  }
})

it('a decision waits for a slow home as long as its own limiter says', async () => {
  const slow = lease(fixedWindow({ name: 'slow', limit: 100, window: '1h', per: 'global' }))
  const store = durableObjects(workerd.namespace, { timeoutMs: 20_000, prefix: freshPrefix() })
  const limiter = createLimiter({ store, policies: [own, slow] })
  expect(await limiter.check({ tenant: 'a' })).toMatchObject({ allowed: true, degraded: undefined })
})

it('a store of objects is not leased by processes, too', async () => {
  const store = leased(objectsInProcess({ leases: objectLeases }).store())
  const limiter = createLimiter({ store, policies: [own, lease(everyone)] })
  const asking = limiter.check({ tenant: 'a' })
  await expect(asking).rejects.toThrow(/leased\.store: must not be durableObjects/)
})

it('an object without leases says how to have them', async () => {
  const { namespace } = objectsInProcess()
  const store = durableObjects(namespace)
  const limiter = createLimiter({ store, policies: [own, lease(everyone)], onStoreError: 'deny' })
  expect(await limiter.check({ tenant: 'a' })).toMatchObject({
    degraded: { cause: 'store_refused' },
  })
})
