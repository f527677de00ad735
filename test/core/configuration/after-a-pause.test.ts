/* Settings that were changed while an isolate made no decision. */
import {
  createLimiter,
  fixedWindow,
  manualClock,
  type Limiter,
  type Policy,
  type Store,
} from '@sluice/core'
import { cacheDenials } from '@sluice/core/cache-denials'
import { configure, partitionRecords, runtimeConfiguration } from '@sluice/core/configuration'
import { lease, leased } from '@sluice/core/leases'
import { memory } from '@sluice/core/memory'
import { reserve } from '@sluice/core/reservations'
import { describe, expect, it } from 'vitest'
import { ACME } from '../../support/limiters.ts'
import { STORES_TO_TEST, storesOf } from '../../support/stores.ts'
import { NOON } from '../../support/times.ts'
import { callsOf, Watched } from '../../support/watched-store.ts'
import { FRESH_MS } from './support.ts'

const KINDS = {
  'one document': {},
  'a record for each partition': { partitions: partitionRecords() },
}

/** Two isolates of an app, one of which has decided before a pause. */
function twoIsolates(store: Store, more: object = {}, isLeased = false) {
  const clock = manualClock(NOON)
  const rpm = fixedWindow({ name: 'rpm', limit: 100, window: '1h', per: ['tenant'] })
  const isolate = (of: Store, policy: Policy = rpm): Limiter =>
    createLimiter({
      store: of,
      clock,
      policies: [policy],
      extensions: [runtimeConfiguration({ allow: { rpm: ['limit'] }, ...more })],
    })
  return {
    clock,
    operator: isolate(store),
    idle: (of: Store) => isolate(of, isLeased ? lease(rpm, { duration: '30s' }) : rpm),
  }
}

const TWELVE = Array.from({ length: 12 })

const allowedOf = async (act: () => Promise<{ readonly allowed: boolean }>): Promise<number> =>
  (await Promise.all(TWELVE.map(act))).filter(({ allowed }) => allowed).length

const remainingOf = async (limiter: Limiter): Promise<number | undefined> =>
  (await limiter.peek(ACME)).policies[0]?.remaining

describe.each(STORES_TO_TEST)('%s', (name) => {
  const make = storesOf(name)

  describe.each(Object.entries(KINDS))('%s', (_, more) => {
    it.each<[string, (limiter: Limiter) => Promise<{ readonly allowed: boolean }>]>([
      ['checks', (limiter) => limiter.check(ACME)],
      ['reservations', async (limiter) => reserve(limiter, ACME)],
    ])(
      '%s of an isolate that has paused are denied by a limit of 0, and charge nothing',
      async (__, act) => {
        const store = make()
        const { clock, operator, idle: start } = twoIsolates(store, more)
        const idle = start(store)
        await act(idle)
        await configure(operator, { rpm: { limit: 0 } }, { tenant: 'acme' })
        clock.advance(3 * FRESH_MS)
        expect(await allowedOf(() => act(idle))).toBe(0)
        await configure(operator, { rpm: { limit: 100 } }, { tenant: 'acme' })
        expect(await remainingOf(operator)).toBe(99)
      },
    )

    it('a limit that was raised meanwhile counts each of them once', async () => {
      const store = make()
      const { clock, operator, idle: start } = twoIsolates(store, more)
      const idle = start(store)
      await idle.check(ACME)
      await configure(operator, { rpm: { limit: 200 } }, { tenant: 'acme' })
      clock.advance(3 * FRESH_MS)
      expect(await allowedOf(() => idle.check(ACME))).toBe(12)
      expect(await remainingOf(operator)).toBe(187)
    })
  })

  it('a limit of 0 for everyone, too', async () => {
    const store = make()
    const { clock, operator, idle: start } = twoIsolates(store)
    const idle = start(store)
    await idle.check(ACME)
    await configure(operator, { rpm: { limit: 0 } })
    clock.advance(3 * FRESH_MS)
    expect(await allowedOf(() => idle.check(ACME))).toBe(0)
  })
})

it.each([
  ['units of a lease', leased, true],
  ['a cache of denials', cacheDenials, false],
] as const)('an isolate with %s denies after such a change, too', async (_, wrap, isLeased) => {
  const home = memory()
  const { clock, operator, idle: start } = twoIsolates(home, {}, isLeased)
  const idle = start(wrap(home))
  for (let time = 0; time < 5; time += 1) await idle.check(ACME)
  await configure(operator, { rpm: { limit: 0 } }, { tenant: 'acme' })
  clock.advance(FRESH_MS)
  expect(await allowedOf(() => idle.check(ACME))).toBe(0)
})

it('an isolate that has paused makes one trip as ever if nothing has changed, and three in all after a change', async () => {
  const store = new Watched(memory())
  const { clock, operator, idle: start } = twoIsolates(store)
  const idle = start(store)
  await idle.check(ACME)
  clock.advance(3 * FRESH_MS)
  const trip = { decisions: 1, reads: 0, writes: 0, resets: 0 }
  expect(await callsOf(store, () => idle.check(ACME))).toEqual(trip)
  await configure(operator, { rpm: { limit: 50 } })
  clock.advance(3 * FRESH_MS)
  const changed = { ...trip, decisions: 2, reads: 1 }
  expect(await callsOf(store, () => idle.check(ACME))).toEqual(changed)
  expect(await callsOf(store, () => idle.check(ACME))).toEqual(trip)
})

it('a decision that fails when it is made again is degraded, not the first one that charged nothing', async () => {
  const store = new Watched(memory())
  const { clock, operator, idle: start } = twoIsolates(store)
  const idle = start(store)
  await idle.check(ACME)
  await configure(operator, { rpm: { limit: 0 } })
  clock.advance(3 * FRESH_MS)
  const check = store.check.bind(store)
  store.check = (request) => {
    store.isDown = request.entries.length === 0
    return check(request)
  }
  expect(await idle.check(ACME)).toMatchObject({ degraded: { mode: 'local' } })
})
