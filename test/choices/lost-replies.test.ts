import { objectChoices } from '../../packages/cloudflare/dist/durable-object/object-choices.js'
import { createLimiter, manualClock, type Limiter, type Store } from '@sluice/core'
import { batched } from '@sluice/core/batched'
import { breaker } from '@sluice/core/breaker'
import { cacheDenials } from '@sluice/core/cache-denials'
import { choices } from '@sluice/core/choices'
import { file } from '@sluice/core/file'
import { memory } from '@sluice/core/memory'
import { cancelById, release, reserve, sweepUnsettled } from '@sluice/core/reservations'
import { sharded } from '@sluice/core/sharded'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { ownFolders } from '../core/file/support.ts'
import { losingStore, type Loss } from '../support/losing-store.ts'
import { objectsInProcess, storeIn } from '../support/objects.ts'
import { sharedRedis } from '../support/running-redis.ts'
import { MINUTE, NOON } from '../support/times.ts'
import { choicesOf, POLICIES, TENANT } from './support.ts'

const own = sharedRedis()
const folderOf = ownFolders()

/** Stores that lose decisions and settlements, or their replies. */
const STORES: Record<string, () => { inner: Store; wrap?: (store: Store) => Store }> = {
  memory: () => ({ inner: memory() }),
  Redis: () => ({ inner: own.store() }),
  'Redis, in batches': () => ({ inner: batched(own.store()) }),
  'Durable Objects': () => ({ inner: storeIn(objectsInProcess().namespace) }),
  'Durable Objects that choose': () => ({
    inner: storeIn(objectsInProcess({ choices: objectChoices }).namespace),
  }),
  'a file': () => ({ inner: file(folderOf()) }),
  'memory behind cached denials': () => ({ inner: memory(), wrap: cacheDenials }),
  'memory behind a breaker': () => ({
    inner: memory(),
    wrap: (store) => breaker(store, { failures: 100 }),
  }),
  'two shards': () => ({
    inner: memory(),
    wrap: (a) => sharded({ a, b: memory() }, { shardBy: 'tenant' }),
  }),
  // It is asked for one choice after another.
  'a store that knows no choices': () => ({
    inner: memory(),
    wrap: (store) => ({
      ...store,
      check: (request) => store.check({ ...request, entries: [...request.entries] }),
    }),
  }),
}

const MODES = ['deny', 'local', 'allow'] as const
type Mode = (typeof MODES)[number]

const LIST = {
  choices: choices(
    choicesOf([
      [0, 20],
      [1, 20],
    ]),
  ),
}
const USED = { token: 8 }

/** The units of each policy, of both models together. */
type Units = Readonly<Record<string, number>>

async function leftIn(limiter: Limiter): Promise<Units> {
  const left: Record<string, number> = {}
  for (const model of ['m0', 'm1']) {
    const { policies } = await limiter.peek(
      { ...TENANT, model },
      { cost: { token: 0, request: 0 } },
    )
    for (const { name, remaining } of policies) {
      left[name] = name === 'budget' ? remaining : (left[name] ?? 0) + remaining
    }
  }
  return left
}

/** A process that shares its store with another, and a first model that may be spent. */
async function setUp(name: string, onStoreError: Mode, isSpent = true) {
  const { inner, wrap = (store) => store } = STORES[name]!()
  const losing = losingStore(inner)
  let isDown = false
  const store = wrap({
    ...losing.store,
    check: (request) =>
      isDown ? Promise.reject(new TypeError('It is down')) : losing.store.check(request),
  })
  const clock = manualClock(NOON)
  const limiter = createLimiter({ store, clock, policies: POLICIES, onStoreError })
  const elsewhere = createLimiter({ store: wrap(inner), clock, policies: POLICIES })
  if (isSpent) await elsewhere.check({ ...TENANT, model: 'm0' }, { cost: { token: 55 } })
  // Reads that are made once, such as that of a list of shards.
  await leftIn(limiter)
  const before = await leftIn(elsewhere)
  return {
    limiter,
    elsewhere,
    clock,
    lose: (losses: readonly Loss[]) => losing.lose(losses),
    /** The units that the store has charged since. */
    charged: async () => minus(before, await leftIn(elsewhere)),
    /** The units that this process has charged in its own memory. */
    chargedHere: async () => {
      isDown = true
      const fresh = { budget: 300, rpm: 8, tpm: 120 }
      const charged = minus(fresh, await leftIn(limiter))
      isDown = false
      return charged
    },
  }
}

const minus = (before: Units, after: Units): Units =>
  Object.fromEntries(
    Object.entries(before).map(([name, units]) => [name, units - (after[name] ?? 0)]),
  )

const NOTHING = { budget: 0, rpm: 0, tpm: 0 }
const ESTIMATE = { budget: 20, rpm: 1, tpm: 20 }
const SETTLED = { budget: 8, rpm: 1, tpm: 8 }

/** Reserves; returns after the work in the background. */
async function reserving(limiter: Limiter, more: object = {}) {
  const works: Promise<unknown>[] = []
  const waitUntil = (work: Promise<unknown>): void => void works.push(work)
  const call = await reserve(limiter, TENANT, { ...LIST, ...more, waitUntil })
  await Promise.all(works)
  return call
}

beforeEach(() => {
  for (const method of ['error', 'warn'] as const) {
    vi.spyOn(console, method).mockImplementation(() => {})
  }
})
afterEach(() => void vi.restoreAllMocks())

const LOSSES: Loss[] = ['request', 'reply', undefined]
/** Those of the settlement's attempts. */
const SETTLING: (readonly Loss[])[] = [[], ['request'], ['reply'], ['request', 'reply']]

const CASES = MODES.flatMap((mode) =>
  LOSSES.flatMap((loss) =>
    (['the first', 'none'] as const).map((spent) => [mode, loss, spent] as const),
  ),
)

/**
 * True if the store counts the call: not if it never had it, nor if it has chosen what the caller was not told. Then it
 * gives it back.
 */
const isCountedInStore = (loss: Loss, spent: 'the first' | 'none'): boolean =>
  loss === undefined || (loss === 'reply' && spent === 'none')

describe.each(Object.keys(STORES))('in %s', (name) => {
  it.each(['request', 'reply'] as const)(
    'a reservation that is denied because its %s was lost is not charged, whatever choice it was',
    async (loss) => {
      const { limiter, lose, charged } = await setUp(name, 'deny')
      lose([loss])
      expect(await reserving(limiter)).toMatchObject({ reason: 'store_unavailable' })
      expect(await charged()).toEqual(NOTHING)
      // Neither if the first attempt to give it back is lost.
      lose([loss, 'request'])
      expect(await reserving(limiter)).toMatchObject({ reason: 'store_unavailable' })
      expect(await charged()).toEqual(NOTHING)
    },
  )

  it.each(CASES)(
    'with onStoreError %s, a call of which the %s is lost counts what it used of its own choice, once: %s is spent',
    async (mode, loss, spent) => {
      for (const settling of SETTLING) {
        for (const ending of ['settle', 'cancel'] as const) {
          const { limiter, lose, charged, chargedHere } = await setUp(
            name,
            mode,
            spent === 'the first',
          )
          lose([loss])
          const call = await reserving(limiter)
          expect(call.allowed).toBe(mode !== 'deny' || loss === undefined)
          if (!call.allowed) continue
          // Without the store, nobody knows what is spent.
          expect(call.choice).toBe(loss === undefined && spent === 'the first' ? 1 : 0)
          const isCounted = isCountedInStore(loss, spent)
          expect(await charged()).toEqual(isCounted ? ESTIMATE : NOTHING)
          const settle = () => (ending === 'settle' ? call.settle(USED) : call.cancel())
          for (const lost of settling) {
            lose([lost])
            await settle().catch(() => {})
          }
          await settle()
          await settle()
          const final = ending === 'settle' ? SETTLED : NOTHING
          expect(await charged()).toEqual(isCounted ? final : NOTHING)
          if (mode !== 'local') continue
          expect(await chargedHere()).toEqual(loss === undefined ? NOTHING : final)
        }
      }
    },
  )

  it.each(CASES)(
    'with onStoreError %s, who knows the id gives a call back of which the %s is lost, and it counts nothing any more: %s is spent',
    async (mode, loss, spent) => {
      const { limiter, elsewhere, lose, charged } = await setUp(name, mode, spent === 'the first')
      lose([loss])
      const call = await reserving(limiter, { id: 'job1' })
      const given = await cancelById(elsewhere, TENANT, { id: 'job1', ...LIST })
      expect(given.applied).toBe(call.allowed && isCountedInStore(loss, spent))
      expect(await charged()).toEqual(NOTHING)
      if (call.allowed) await call.settle({ token: 19 })
      await cancelById(elsewhere, TENANT, { id: 'job1', ...LIST })
      expect(await charged()).toEqual(NOTHING)
    },
  )

  it.each(CASES)(
    'with onStoreError %s, a sweep gives a call back of which the %s is lost and the holder has died: %s is spent',
    async (mode, loss, spent) => {
      const { limiter, elsewhere, clock, lose, charged } = await setUp(
        name,
        mode,
        spent === 'the first',
      )
      lose([loss])
      const call = await reserving(limiter, { unsettled: release(), settleWithin: '1m' })
      clock.advance(MINUTE)
      const isCounted = call.allowed && isCountedInStore(loss, spent)
      let swept = 0
      for (const model of ['m0', 'm1'])
        swept += await sweepUnsettled(elsewhere, { ...TENANT, model })
      expect(swept).toBe(isCounted ? 1 : 0)
      expect((await charged())['budget']).toBe(0)
      // A holder that was not dead counts what it used.
      if (!call.allowed || !isCounted) return
      await call.settle(USED)
      expect((await charged())['budget']).toBe(8)
    },
  )

  it('a reservation whose choices are held by the dead gives them back, and is let in', async () => {
    const { limiter, elsewhere, clock, charged } = await setUp(name, 'deny')
    const held = { unsettled: release(), settleWithin: '1m' } as const
    const whole = {
      choices: choices(
        choicesOf([
          [1, 40],
          [2, 60],
        ]),
      ),
      ...held,
    }
    expect(await reserve(elsewhere, TENANT, whole)).toMatchObject({ choice: 0 })
    expect(await reserve(elsewhere, TENANT, whole)).toMatchObject({ choice: 1 })
    // The budget of all is what is missing then, and the dead hold it.
    const rest = { choices: choices(choicesOf([[3, 60]])), ...held }
    expect(await reserve(elsewhere, TENANT, rest)).toMatchObject({ choice: 0 })
    expect((await charged())['budget']).toBe(160)
    clock.advance(MINUTE)
    const many = {
      choices: choices(
        choicesOf([
          [1, 60],
          [2, 60],
          [3, 60],
        ]),
      ),
      ...held,
    }
    for (let time = 0; time < 4; time += 1) {
      expect(await reserve(limiter, TENANT, many)).toMatchObject({ allowed: time < 3 })
    }
  })
})
