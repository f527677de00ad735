import { createLimiter, definePlans, manualClock, slidingWindow } from '@sluice/core'
import {
  configure,
  partitionRecords,
  resetAll,
  runtimeConfiguration,
} from '@sluice/core/configuration'
import { planResolver } from '@sluice/core/plans'
import { flushUsage, forgetUsage, usageOperations } from '@sluice/usage'
import { usage } from '@sluice/usage/report'
import { expect, it } from 'vitest'
import { objectsInProcess } from '../../support/objects.ts'
import { NOON } from '../../support/times.ts'
import { recording } from '../../usage/support.ts'

const SECONDS = 60
const DAY_MS = 86_400_000

/** Objects, and the number of calls to each. */
function counted() {
  const clock = manualClock(NOON)
  const objects = objectsInProcess({}, clock)
  const calls = new Map<string, number>()
  const { namespace } = objects
  const get = namespace.get.bind(namespace)
  namespace.get = (id) => {
    const name = String(id)
    calls.set(name, (calls.get(name) ?? 0) + 1)
    return get(id)
  }
  return { clock, calls, store: objects.store() }
}

const rpm = slidingWindow({ name: 'rpm', limit: 60, window: '1m', per: ['tenant', 'route'] })
const SUBJECT = { tenant: 'acme', route: 'chat' }

it('settings of whole policies are read in home, once in five seconds and isolate', async () => {
  const { clock, calls, store } = counted()
  const extensions = [runtimeConfiguration({ allow: { rpm: ['limit'] } })]
  const limiter = createLimiter({ store, policies: [rpm], extensions, clock })
  await configure(limiter, { rpm: { limit: 40 } })
  calls.clear()
  for (let second = 0; second < SECONDS; second += 1) {
    const { policies } = await limiter.check(SUBJECT)
    expect(policies[0]?.limit).toBe(40)
    clock.advance(1_000)
  }
  expect(calls.get('tenant=acme')).toBe(SECONDS)
  expect(calls.get('home')).toBeLessThanOrEqual(SECONDS / 5 + 1)
})

it('settings and plans of a tenant are in its own object, and read along with its decisions', async () => {
  const { clock, calls, store } = counted()
  const limiter = createLimiter({
    store,
    plans: definePlans({ small: { rpm: 20 }, large: { rpm: 50 } }),
    policies: [
      slidingWindow({
        name: 'rpm',
        limit: ({ plan }) => plan.rpm,
        window: '1m',
        per: ['tenant', 'route'],
      }),
    ],
    extensions: [
      planResolver(async () => 'large', { cacheFor: '1m' }),
      runtimeConfiguration({ allow: { rpm: ['limit'] }, partitions: partitionRecords() }),
    ],
    clock,
  })
  await limiter.check(SUBJECT)
  calls.clear()
  for (let second = 0; second < SECONDS; second += 1) {
    expect(await limiter.check(SUBJECT)).toMatchObject({ plan: 'large', degraded: undefined })
    clock.advance(1_000)
  }
  // The plan is looked up anew once a minute.
  expect(calls.get('tenant=acme')).toBeLessThanOrEqual(SECONDS + 3)
  expect(calls.get('home')).toBeLessThanOrEqual(SECONDS / 5 + 1)
  expect([...calls.keys()].toSorted()).toEqual(['home', 'tenant=acme'])

  await configure(limiter, { rpm: { limit: 3 } }, SUBJECT)
  expect(await limiter.peek(SUBJECT)).toMatchObject({ policies: [{ limit: 3 }] })
  await resetAll(limiter, SUBJECT)
  expect(await limiter.peek(SUBJECT)).toMatchObject({ policies: [{ limit: 50, remaining: 50 }] })
})

it('usage that was forgotten stays forgotten when the object is loaded again', async () => {
  const objects = objectsInProcess({ operations: usageOperations })
  const { limiter, clock } = recording(undefined, { store: objects.store() })
  for (const tenant of ['acme', 'globex']) await limiter.check({ tenant }, { cost: { token: 10 } })
  await flushUsage(limiter)
  const tenants = async () => {
    objects.restart()
    const { rows } = await usage(limiter, { from: clock() - DAY_MS, by: 'hour' })
    return [...new Set(rows.map(({ tenant }) => tenant))].toSorted()
  }
  expect(await tenants()).toEqual(['acme', 'globex'])
  await forgetUsage(limiter, ['acme'])
  expect(await tenants()).toEqual(['globex'])
})
