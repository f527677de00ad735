import { objectChoices } from '../../packages/cloudflare/dist/durable-object/object-choices.js'
import { fixedWindow, manualClock, slidingWindow, type Policy, type Store } from '@sluice/core'
import { choices } from '@sluice/core/choices'
import { cacheDenials } from '@sluice/core/cache-denials'
import { file } from '@sluice/core/file'
import { memory } from '@sluice/core/memory'
import { release, reserve, sweepUnsettled } from '@sluice/core/reservations'
import { describe, expect, it, vi } from 'vitest'
import { ownFolders } from '../core/file/support.ts'
import { remaining } from '../support/decisions.ts'
import { losingStore } from '../support/losing-store.ts'
import { objectsInProcess } from '../support/objects.ts'
import { sharedRedis } from '../support/running-redis.ts'
import { MINUTE, NOON } from '../support/times.ts'
import {
  answersOf,
  checkAtOnce,
  choicesOf,
  counted,
  limiterOn,
  POLICIES,
  TENANT,
} from './support.ts'

const own = sharedRedis()
const folderOf = ownFolders()

/** So many policies that all choices share, which together have room for one. */
const shared = (count: number, limit = 1): Policy[] =>
  Array.from({ length: count }, (_, at) =>
    fixedWindow({ name: `p${at}`, limit, window: '1h', per: ['tenant'] }),
  )

const listOf = (count: number) => ({
  choices: choices(Array.from({ length: count }, (_, at) => ({ subject: { model: `m${at}` } }))),
})

/** 32 choices, of which so many are on the route `x`. */
const routes = (count: number) => ({
  choices: choices(
    Array.from({ length: 32 }, (__, at) => ({
      subject: { model: `m${at}`, route: at < count ? 'x' : 'y' },
    })),
  ),
})

describe.each([
  ['memory', () => memory()],
  ['Redis', () => own.store()],
  ['Durable Objects', () => objectsInProcess().store({ timeoutMs: 30_000 })],
  [
    'Durable Objects that choose',
    () => objectsInProcess({ choices: objectChoices }).store({ timeoutMs: 30_000 }),
  ],
] as const)('in %s', (_, make) => {
  it.each([
    [64, 4],
    [32, 8],
    [4, 64],
  ])('%i choices of %i policies are 256 entries, and decided', async (count, policies) => {
    const limiter = limiterOn(make(), manualClock(NOON), shared(policies))
    expect(await limiter.check(TENANT, listOf(count))).toMatchObject({ choice: 0, allowed: true })
    const denied = await limiter.check(TENANT, listOf(count))
    expect(denied).toMatchObject({ choice: 0, allowed: false, degraded: undefined })
    expect(denied.tried).toHaveLength(count)
  })

  it('257 entries are refused before the store is asked', async () => {
    const { store, asked } = counted(make())
    // The last policy is for one choice.
    const last = slidingWindow({
      name: 'last',
      limit: 1,
      window: '1h',
      per: ['tenant', 'model'],
      routes: ['x'],
    })
    const limiter = limiterOn(store, manualClock(NOON), [...shared(8), last])
    const refused = { name: 'InputError', code: 'invalid_choices' }
    for (const ask of [
      () => limiter.check(TENANT, routes(1)),
      () => limiter.peek(TENANT, routes(1)),
      () => reserve(limiter, TENANT, routes(1)),
    ]) {
      await expect(ask()).rejects.toMatchObject(refused)
    }
    expect([asked.checks, asked.runs]).toEqual([0, 0])
    expect(await limiter.check(TENANT, routes(0))).toMatchObject({ allowed: true })
  })

  it('a choice that only shadows count always fits', async () => {
    const one = { limit: 1, window: '1h' } as const
    const limiter = limiterOn(make(), manualClock(NOON), [
      fixedWindow({ name: 'shadow', ...one, per: ['tenant', 'model'], mode: 'shadow' }),
      fixedWindow({ name: 'x', ...one, per: ['tenant'], routes: ['x'] }),
    ])
    const two = {
      choices: choices(['x', 'y'].map((route) => ({ subject: { model: 'm0', route } }))),
    }
    const chosen = []
    for (let time = 0; time < 3; time += 1) chosen.push((await limiter.check(TENANT, two)).choice)
    expect(chosen).toEqual([0, 1, 1])
  })

  it('a choice that all policies let have any number of wins, and one that none is about is refused', async () => {
    const one = { window: '1h', per: ['tenant', 'model'] } as const
    const limiter = limiterOn(make(), manualClock(NOON), [
      fixedWindow({
        name: 'rpm',
        limit: ({ model }) => (model === 'm1' ? 'unlimited' : 1),
        ...one,
      }),
    ])
    expect(await limiter.check(TENANT, listOf(2))).toMatchObject({ choice: 0 })
    expect(await limiter.check(TENANT, listOf(2))).toMatchObject({ choice: 1, policies: [] })
    const elsewhere = limiterOn(make(), manualClock(NOON), [
      fixedWindow({ name: 'rpm', limit: 1, ...one, routes: ['x'] }),
    ])
    await expect(elsewhere.check(TENANT, listOf(2))).rejects.toMatchObject({
      code: 'invalid_choices',
    })
  })

  it('reservations of dead holders are given back, of whichever choice they are', async () => {
    const clock = manualClock(NOON)
    const tpm = { limit: 60, window: '1h', unit: 'token' } as const
    const limiter = limiterOn(make(), clock, [
      fixedWindow({ name: 'tpm', ...tpm, per: ['tenant', 'model'] }),
    ])
    const held = { unsettled: release(), settleWithin: '1m' } as const
    const whole = {
      choices: choices(
        choicesOf([
          [0, 60],
          [1, 60],
        ]),
      ),
    }
    const living = await reserve(limiter, TENANT, { ...whole, ...held, settleWithin: '1h' })
    const dead = await reserve(limiter, TENANT, { ...whole, ...held })
    expect([living.choice, dead.choice]).toEqual([0, 1])
    expect(await reserve(limiter, TENANT, { ...whole, ...held })).toMatchObject({ allowed: false })
    clock.advance(MINUTE)
    expect(await reserve(limiter, TENANT, { ...whole, ...held })).toMatchObject({
      allowed: true,
      choice: 1,
    })
    expect(await sweepUnsettled(limiter, { ...TENANT, model: 'm0' })).toBe(0)
  })
})

describe('a process that comes back', () => {
  const folder = folderOf()
  const objects = objectsInProcess({ choices: objectChoices })
  it.each([
    ['a file', () => file(folder)],
    [
      'Durable Objects',
      () => {
        objects.restart()
        return objects.store({ timeoutMs: 30_000 })
      },
    ],
  ] as const)('finds in %s what choices have charged', async (_, open) => {
    vi.spyOn(console, 'warn').mockImplementation(() => {})
    const [clock, known] = [manualClock(NOON), manualClock(NOON)]
    const plain = limiterOn(memory(), known)
    await answersOf(plain, known, checkAtOnce)
    await answersOf(limiterOn(open(), clock), clock, checkAtOnce)
    const again = limiterOn(open(), clock)
    for (const model of ['m0', 'm1', 'm2', 'm3']) {
      const look = (limiter: typeof plain) =>
        limiter.peek({ ...TENANT, model }, { cost: { token: 0 } })
      expect(remaining(await look(again))).toEqual(remaining(await look(plain)))
    }
    vi.restoreAllMocks()
  })
})

describe('a reply that is lost when the first choice is known to be denied', () => {
  it.each(['deny', 'local', 'allow'] as const)(
    'is not asked for again: with onStoreError %s, one choice is charged, once',
    async (onStoreError) => {
      vi.spyOn(console, 'error').mockImplementation(() => {})
      const clock = manualClock(NOON)
      const inner = own.store()
      const losing = losingStore(inner)
      const { store, asked } = counted(losing.store)
      const limiter = limiterOn(cacheDenials(store), clock, POLICIES, [], onStoreError)
      const elsewhere = limiterOn(inner, clock)
      await elsewhere.check({ ...TENANT, model: 'm0' }, { cost: { token: 55 } })
      const first = { ...TENANT, model: 'm0' }
      expect(await limiter.check(first, { cost: { token: 20 } })).toMatchObject({ allowed: false })
      losing.lose(['reply'])
      const before = asked.checks + asked.runs
      await checkAtOnce(
        limiter,
        [
          [0, 20],
          [1, 20],
          [2, 20],
        ],
        onStoreError,
      )
      expect(asked.checks + asked.runs - before).toBe(1)
      const { policies } = await elsewhere.peek({ ...TENANT, model: 'm1' }, { cost: { token: 0 } })
      expect(policies.map((policy) => policy.remaining)).toEqual([225, 3, 40])
      vi.restoreAllMocks()
    },
  )
})

describe('a store that is asked for one choice after another, and fails after the first', () => {
  it.each(['deny', 'local', 'allow'] as const)(
    'with onStoreError %s, counts nothing that the caller was not told',
    async (onStoreError) => {
      vi.spyOn(console, 'error').mockImplementation(() => {})
      const clock = manualClock(NOON)
      const inner = memory()
      const losing = losingStore(inner)
      const store: Store = {
        ...losing.store,
        // It knows no choices.
        check: (request) => losing.store.check({ ...request, entries: [...request.entries] }),
      }
      const limiter = limiterOn(store, clock, POLICIES, [], onStoreError)
      const elsewhere = limiterOn(inner, clock)
      await elsewhere.check({ ...TENANT, model: 'm0' }, { cost: { token: 55 } })
      losing.lose([undefined, 'reply'])
      const works: Promise<unknown>[] = []
      const waitUntil = (work: Promise<unknown>): void => void works.push(work)
      const list = {
        choices: choices(
          choicesOf([
            [0, 20],
            [1, 20],
            [2, 20],
          ]),
        ),
      }
      const call = await reserve(limiter, TENANT, { ...list, waitUntil })
      await Promise.all(works)
      expect(call.degraded).toMatchObject({ mode: onStoreError })
      // The first was denied by the store itself.
      expect([call.allowed, call.choice]).toEqual([onStoreError !== 'deny', 1])
      if (call.allowed) await call.settle({ token: 8 })
      const left = await Promise.all(
        ['m0', 'm1', 'm2'].map((model) =>
          elsewhere.peek({ ...TENANT, model }, { cost: { token: 0 } }),
        ),
      )
      const tokens = left.map(({ policies }) => policies[2]?.remaining)
      expect(tokens).toEqual(call.allowed ? [5, 52, 60] : [5, 60, 60])
      vi.restoreAllMocks()
    },
  )
})
