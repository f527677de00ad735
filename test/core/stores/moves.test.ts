import {
  createLimiter,
  dailyCap,
  listen,
  manualClock,
  StoreError,
  type Decision,
  type Extension,
  type Limiter,
  type LimiterOptions,
  type Operation,
  type Store,
  type StoreErrorCode,
} from '@sluice/core'
import {
  configure,
  partitionRecords,
  readConfiguration,
  runtimeConfiguration,
} from '@sluice/core/configuration'
import { lease, leased, type LeasedStore } from '@sluice/core/leases'
import { memory } from '@sluice/core/memory'
import { before } from '@sluice/core/moves'
import { release, reservation, reserve } from '@sluice/core/reservations'
import { sharded, type ShardedOptions } from '@sluice/core/sharded'
import { Redis } from 'ioredis'
import { describe, expect, inject, it, vi } from 'vitest'
import { KIND_NAMES, KINDS } from '../../support/kinds.ts'
import { keysUnder } from '../../support/redis.ts'
import { freshPrefix, storesOf, STORES_TO_TEST } from '../../support/stores.ts'
import { overTcp } from '../../support/tcp-clients.ts'
import { NOON } from '../../support/times.ts'

type Stores = Record<'a' | 'b' | 'c', Store>

const BUDGET = dailyCap({ name: 'budget', limit: 10_000_000, unit: 'usd', per: ['tenant'] })
const RPM = KINDS['sliding window']('rpm', 10)
const FROM_TWO = before({ stores: ['a', 'b'] })

/** Processes with lists of their own, on the same three databases. */
function setUp(make: () => Store, policies: LimiterOptions['policies'] = [RPM]) {
  const clock = manualClock(NOON)
  const databases: Stores = { a: make(), b: make(), c: make() }
  const open = (
    stores: Partial<Stores>,
    options: ShardedOptions = {},
    extensions: Extension[] = [],
  ) =>
    createLimiter({
      store: sharded(stores as Stores, options as ShardedOptions<keyof Stores>),
      policies,
      clock,
      onStoreError: 'deny',
      extensions,
    })
  const { a, b } = databases
  return {
    clock,
    databases,
    open,
    /** A process that counts in a and b. */
    openOld: (...extensions: Extension[]) => open({ a, b }, {}, extensions),
    /** A process that counts in all three, to which tenants of a and b move. */
    openNew: (...extensions: Extension[]) => open(databases, { from: FROM_TWO }, extensions),
    oracle: createLimiter({ store: memory(), policies, clock }),
  }
}

/** Tenants that a third database takes from the others, and one that stays. */
const [MOVING, STAYING] = await (async () => {
  const [two, three] = [
    ['a', 'b'],
    ['a', 'b', 'c'],
  ].map((names) =>
    createLimiter({
      store: sharded(Object.fromEntries(names.map((name) => [name, memory()]))),
      policies: [RPM],
    }),
  ) as [Limiter, Limiter]
  const moving: string[] = []
  let staying = ''
  for (let n = 0; moving.length < 4; n += 1) {
    const tenant = `t${n}`
    const [from, to] = [await two.peek({ tenant }), await three.peek({ tenant })]
    if (from.place === to.place) staying = tenant
    else moving.push(tenant)
  }
  return [moving, staying] as const
})()
const [FIRST = ''] = MOVING
const acme = { tenant: FIRST }

const causeOf = async (limiter: Limiter<'tenant'>): Promise<string | undefined> =>
  (await limiter.check(acme)).degraded?.cause

const allowedOf = (decisions: readonly Decision[]): number =>
  decisions.filter(({ allowed }) => allowed).length

const settings = (): Extension =>
  runtimeConfiguration({ allow: { rpm: ['limit'] }, partitions: partitionRecords() })

/** Objects find a place by themselves, and several databases have a list of their own. */
const isFit = (name: string): boolean => !/^durable objects|^four databases|^a region/.test(name)

describe.each(STORES_TO_TEST.filter(isFit))('a tenant that moves between stores: %s', (name) => {
  const make = storesOf(name)

  it.each(KIND_NAMES)('takes its count along: %s', async (kind) => {
    const { openOld, openNew, oracle, clock } = setUp(make, [KINDS[kind]('own', 10)])
    const old = openOld()
    for (const tenant of MOVING) {
      for (let call = 0; call < 6; call += 1) {
        clock.advance(10)
        await Promise.all([old.check({ tenant }), oracle.check({ tenant })])
      }
    }
    const processes = [openNew(), openNew()]
    for (const tenant of MOVING) {
      const checks = processes.flatMap((limiter) =>
        Array.from({ length: 13 }, () => limiter.check({ tenant })),
      )
      const decisions = await Promise.all(checks)
      expect(decisions.filter(({ degraded, place }) => degraded || place !== 'c')).toEqual([])
      const alone: Decision[] = []
      for (let call = 0; call < 26; call += 1) alone.push(await oracle.check({ tenant }))
      expect(allowedOf(decisions)).toBe(allowedOf(alone))
      expect(allowedOf(decisions)).toBeLessThanOrEqual(4)
      // No process counts on where it was.
      expect(await old.check({ tenant })).toMatchObject({ degraded: { cause: 'store_moved' } })
    }
    for (const afterMs of [0, 15_000, 30_000, 86_400_000]) {
      clock.advance(afterMs)
      for (const tenant of MOVING) {
        const [found, expected] = [
          await processes[0]!.peek({ tenant }),
          await oracle.peek({ tenant }),
        ]
        expect(found.policies).toEqual(expected.policies)
      }
    }
  })

  it('settles a reservation once, wherever it was made', async () => {
    const { openOld, openNew } = setUp(make, [BUDGET])
    const [old, now] = [openOld(), openNew()]
    const cost = { usd: 4_000_000 }
    const [one, two] = [await reserve(old, acme, { cost }), await reserve(old, acme, { cost })]
    if (!one.allowed || !two.allowed) throw new Error('they fit')
    // Before the tenant has asked in the new list.
    const [here, again] = [reservation(now, one.toJSON()), reservation(now, one.toJSON())]
    expect(await here.settle({ usd: 1_000_000 })).toMatchObject({
      applied: true,
      returned: { usd: 3_000_000 },
    })
    expect(await again.settle({ usd: 1_000_000 })).toMatchObject({
      applied: false,
      why: 'settled_before',
    })
    expect((await now.peek(acme, { cost: { usd: 5_000_000 } })).allowed).toBe(true)
    expect((await now.peek(acme, { cost: { usd: 6_000_000 } })).allowed).toBe(false)
    // A process that does not know where the tenant is cannot, and takes nothing from one that does.
    for (let attempt = 0; attempt < 2; attempt += 1) {
      await expect(two.settle({ usd: 0 })).rejects.toMatchObject({ code: 'store_moved' })
    }
    const late = await reservation(now, two.toJSON()).settle({ usd: 0 })
    expect(late).toMatchObject({ applied: true, returned: { usd: 4_000_000 } })
    expect((await now.peek(acme, { cost: { usd: 9_000_000 } })).allowed).toBe(true)
  })

  it('releases what was reserved before and is not settled', async () => {
    const { openOld, openNew, clock } = setUp(make, [BUDGET])
    const [old, now] = [openOld(), openNew()]
    const options = { cost: { usd: 8_000_000 }, unsettled: release(), settleWithin: '1m' } as const
    expect((await reserve(old, acme, options)).allowed).toBe(true)
    expect((await reserve(now, acme, options)).allowed).toBe(false)
    clock.advance(60_000)
    expect((await reserve(now, acme, options)).allowed).toBe(true)
    expect((await reserve(now, acme, options)).allowed).toBe(false)
  })

  it('takes its settings along', async () => {
    const { openOld, openNew } = setUp(make)
    await configure(openOld(settings()), { rpm: { limit: 2 } }, acme)
    const now = openNew(settings())
    const allowed = []
    for (let call = 0; call < 4; call += 1) allowed.push((await now.check(acme)).allowed)
    expect(allowed).toEqual([true, true, false, false])
  })

  it('is read, but not written, where its settings were', async () => {
    const { openOld, openNew } = setUp(make)
    const old = openOld(settings())
    await configure(old, { rpm: { limit: 2 } }, acme)
    await openNew(settings()).check(acme)
    const other = openOld(settings())
    expect(JSON.stringify(await readConfiguration(other, acme))).toContain('"limit":2')
    await expect(configure(other, { rpm: { limit: 9 } }, acme)).rejects.toMatchObject({
      code: 'store_moved',
    })
    expect((await openNew(settings()).check(acme)).policies[0]).toMatchObject({ limit: 2 })
  })

  it('goes back with the settings that it was given meanwhile', async () => {
    const { open, openOld, openNew, databases } = setUp(make)
    await configure(openOld(settings()), { rpm: { limit: 2 } }, acme)
    await configure(openNew(settings()), { rpm: { limit: 3 } }, acme)
    await open(databases, { from: 'ended' }).check(acme)
    const options = { weights: { c: 0 }, from: before({ stores: ['a', 'b', 'c'] }) }
    const back = open(databases, options, [settings()])
    expect((await back.check(acme)).policies[0]).toMatchObject({ limit: 3 })
  })

  it('leaves when a database is removed, and may come back', async () => {
    const { open, openNew, databases } = setUp(make)
    const { a, b } = databases
    const three = open(databases)
    for (let call = 0; call < 3; call += 1) await three.check(acme)
    const options = { weights: { c: 0 }, from: before({ stores: ['a', 'b', 'c'] }) }
    const without = open(databases, options)
    for (let call = 0; call < 3; call += 1) await without.check(acme)
    expect(await causeOf(three)).toBe('store_moved')
    // Once all have moved, the database may be gone.
    await open(databases, { weights: { c: 0 }, from: 'ended' }).check(acme)
    await open({ a, b }).peek(acme)
    const back = openNew()
    const last = []
    for (let call = 0; call < 5; call += 1) last.push(await back.check(acme))
    // One was counted by the process that ended the move.
    expect(last.filter(({ allowed }) => allowed)).toHaveLength(3)
    expect(last[0]).toMatchObject({ place: 'c', degraded: undefined })
  })

  it('is reset where it is, and not where it was', async () => {
    const { openOld, openNew } = setUp(make)
    const [old, now] = [openOld(), openNew()]
    for (let call = 0; call < 10; call += 1) await old.check(acme)
    expect((await now.check(acme)).allowed).toBe(false)
    await expect(old.reset(acme)).rejects.toMatchObject({
      code: 'store_moved',
      place: expect.any(String),
    })
    await now.reset(acme)
    expect((await now.check(acme)).policies[0]).toMatchObject({ remaining: 9 })
    expect(await causeOf(old)).toBe('store_moved')
  })

  it('is reset before it has asked', async () => {
    const { openOld, openNew } = setUp(make)
    const old = openOld()
    for (let call = 0; call < 10; call += 1) await old.check(acme)
    const now = openNew()
    await now.reset(acme)
    expect((await now.check(acme)).policies[0]).toMatchObject({ remaining: 9 })
  })

  it.each(['find arrived', 'depart', 'arrive'])(
    'is counted exactly if the reply to one step is lost: %s',
    async (lost) => {
      const { databases, open, openOld } = setUp(make)
      const old = openOld()
      for (let call = 0; call < 6; call += 1) await old.check(acme)
      const failing = { hasFailed: false }
      const stores = {
        a: losing(databases.a, lost, failing),
        b: losing(databases.b, lost, failing),
        c: losing(databases.c, lost, failing),
      }
      const unlucky = open(stores, { from: FROM_TWO })
      expect(await causeOf(unlucky)).toBe('store_unreachable')
      // Another process goes on with it.
      const other = open(databases, { from: FROM_TWO })
      const decisions = []
      for (let call = 0; call < 3; call += 1) {
        decisions.push(await other.check(acme), await unlucky.check(acme))
      }
      expect(decisions.map(({ allowed }) => allowed)).toEqual([
        true,
        true,
        true,
        true,
        false,
        false,
      ])
      expect(decisions.at(-1)).toMatchObject({ degraded: undefined, place: 'c' })
    },
  )

  it.skipIf(name.includes('cluster'))(
    'is never above its limit while an old process holds a lease of it',
    async () => {
      const large = KINDS['fixed window']('large', 200)
      const { databases, open } = setUp(make, [lease(large)])
      const { a, b, c } = databases
      const inOld: { a: LeasedStore; b: LeasedStore } = { a: leased(a), b: leased(b) }
      const old = open(inOld)
      const now = open({ a: leased(a), b: leased(b), c: leased(c) }, { from: FROM_TWO })
      let allowed = 0
      for (let call = 0; call < 60; call += 1) allowed += Number((await old.check(acme)).allowed)
      for (let call = 0; call < 300; call += 1) {
        const limiter = call % 4 === 0 ? old : now
        allowed += Number((await limiter.check(acme)).allowed)
      }
      await Promise.all([inOld.a.returnUnits(), inOld.b.returnUnits()])
      for (let call = 0; call < 100; call += 1) allowed += Number((await now.check(acme)).allowed)
      expect(allowed).toBeLessThanOrEqual(200)
      expect(allowed).toBeGreaterThan(100)
    },
  )
})

/** A store that loses its reply to an operation of this name, once. */
function losing(store: Store, name: string, failing: { hasFailed: boolean }): Store {
  return {
    check: (request) => store.check(request),
    async run<Result>(operation: Operation<Result>) {
      const result = await store.run(operation)
      if (operation.kind.name !== name || failing.hasFailed) return result
      failing.hasFailed = true
      throw new StoreError('store_unreachable', 'lost')
    },
    reset: (keys) => store.reset(keys),
  }
}

/** A store that notes the calls it gets. */
function noting(store: Store, calls: string[]): Store {
  return {
    check(request) {
      calls.push('check')
      return store.check(request)
    },
    run(operation) {
      calls.push(operation.kind.name)
      return store.run(operation)
    },
    reset: (keys) => store.reset(keys),
  }
}

describe('the calls that a move adds', () => {
  it('are three for a tenant, and one for each process that has not seen it', async () => {
    const { databases, open, openOld } = setUp(memory)
    await openOld().check(acme)
    const calls: string[] = []
    const stores = {
      a: noting(databases.a, calls),
      b: noting(databases.b, calls),
      c: noting(databases.c, calls),
    }
    const [first, second] = [open(stores, { from: FROM_TWO }), open(stores, { from: FROM_TWO })]
    const callsOf = async (act: () => Promise<unknown>): Promise<string> => {
      calls.length = 0
      await act()
      return calls.filter((call) => call !== 'join shards').join(', ')
    }
    expect(await callsOf(() => first.check(acme))).toBe('find arrived, depart, arrive, check')
    expect(await callsOf(() => first.check(acme))).toBe('check')
    expect(await callsOf(() => second.check(acme))).toBe('find arrived, check')
    expect(await callsOf(() => second.check(acme))).toBe('check')
    const made = await callsOf(async () => {
      const one = await reserve(second, acme, {})
      if (one.allowed) await one.settle({ request: 0 })
    })
    expect(made).toBe('check, settle')
  })

  it('are one for each database and process, without a move', async () => {
    const { databases, open } = setUp(memory)
    await open(databases).check(acme)
    const calls: string[] = []
    const again = open({ ...databases, c: noting(databases.c, calls) })
    await Promise.all(Array.from({ length: 20 }, () => again.check(acme)))
    expect(calls.filter((call) => call === 'join shards')).toHaveLength(1)
  })
})

const whole = (): Extension => runtimeConfiguration({ allow: { rpm: ['limit'] } })

it('settings of whole policies move with home, and processes of the old list go on reading them', async () => {
  const { open, databases } = setUp(memory)
  const { a, b } = databases
  await configure(open({ a, b }, { home: 'a' }, [whole()]), { rpm: { limit: 2 } })
  const from = before({ stores: ['a', 'b'], home: 'a' })
  const now = open(databases, { home: 'c', from }, [whole()])
  const stays = { tenant: STAYING }
  expect((await now.check(stays)).policies[0]).toMatchObject({ limit: 2, remaining: 1 })
  const late = open({ a, b }, { home: 'a' }, [whole()])
  expect((await late.check(stays)).policies[0]).toMatchObject({ limit: 2, remaining: 0 })
})

const hanging = (store: Store): Store => ({
  ...store,
  check: () => new Promise(() => {}),
  run: () => new Promise(() => {}),
})

describe('a database that hangs', () => {
  const places = new Map<string | undefined, string>()

  it('keeps no tenant of another waiting, whatever the process says of a move', async () => {
    const { openOld, open, databases } = setUp(memory)
    const old = openOld()
    for (const tenant of [...MOVING, STAYING, 't1', 't2', 't3']) {
      places.set((await old.check({ tenant })).place, tenant)
    }
    const stores = { ...databases, a: hanging(databases.a) }
    const ofB = { tenant: places.get('b') ?? '' }
    // One moves, and its database has heard of no list: the other that answers is enough.
    expect(await open(stores, { from: FROM_TWO }).check(ofB)).toMatchObject({ degraded: undefined })
    expect(await open(stores, { from: 'ended' }).check(ofB)).toMatchObject({ degraded: undefined })
    expect(await open(stores).check(ofB)).toMatchObject({ degraded: undefined })
  })
})

describe('what a move leaves behind', () => {
  const clients = [1, 2, 3].map((n) => () => overTcp('ioredis 5', `${inject('redisUrl')}/${n}`))

  it('expires', async () => {
    const prefix = freshPrefix()
    const connections = clients.map((connect) => connect())
    try {
      const [a, b, c] = connections.map((one) => one.make(prefix)) as [Store, Store, Store]
      const limiterOf = (stores: Partial<Stores>, options: ShardedOptions = {}) =>
        createLimiter({
          store: sharded(stores as Stores, options as ShardedOptions<keyof Stores>),
          policies: [RPM, BUDGET],
          extensions: [settings()],
        })
      const old = limiterOf({ a, b })
      await configure(old, { rpm: { limit: 2 } }, acme)
      const made = await reserve(old, acme, { cost: { usd: 1_000_000 } })
      const now = limiterOf({ a, b, c }, { from: FROM_TWO })
      if (made.allowed) await reservation(now, made.toJSON()).settle({ usd: 1 })
      await now.check(acme, { cost: { usd: 0 } })
      const lasting: string[] = []
      for (const database of [1, 2, 3]) {
        const redis = new Redis(`${inject('redisUrl')}/${database}`)
        for (const key of await keysUnder(redis, prefix)) {
          if ((await redis.pttl(key)) < 0) lasting.push(`${database} ${key.slice(prefix.length)}`)
        }
        redis.disconnect()
      }
      // The lists, and the settings where they are now.
      expect(lasting.filter((key) => !key.endsWith(':shards:tenant'))).toEqual([
        `3 :config:default:tenant=${FIRST}`,
      ])
    } finally {
      for (const connection of connections) connection.close()
    }
  })
})

describe('a process with another list of databases', () => {
  const refusal = { allowed: false, degraded: { cause: 'store_moved' satisfies StoreErrorCode } }

  it.each([
    ['a new database without from', ({ open, databases }: Set) => open(databases)],
    [
      'other weights',
      ({ open, databases: { a, b } }: Set) => open({ a, b }, { weights: { a: 3 } }),
    ],
    ['a removed database', ({ open, databases: { b } }: Set) => open({ b })],
    ['another home', ({ open, databases: { a, b } }: Set) => open({ a, b }, { home: 'a' })],
    [
      'a wrong list before',
      ({ open, databases }: Set) => open(databases, { from: before({ stores: ['a', 'c'] }) }),
    ],
    ['an end that has not begun', ({ open, databases }: Set) => open(databases, { from: 'ended' })],
  ])('is refused before anything is charged: %s', async (_, make) => {
    const set = setUp(memory)
    const old = set.openOld()
    for (const tenant of ['t1', 't2', 't3', 't4', 't5', 't6']) await old.check({ tenant })
    const other = make(set)
    for (const tenant of ['t1', 't2', 't3', 't4', 't5', 't6']) {
      expect(await other.check({ tenant })).toMatchObject(refusal)
    }
    for (const tenant of ['t1', 't2', 't3', 't4', 't5', 't6']) {
      expect((await old.peek({ tenant })).policies[0]).toMatchObject({ remaining: 9 })
    }
  })

  it('is refused while tenants move, until the move has been ended', async () => {
    const { open, openNew, openOld, databases } = setUp(memory)
    await openOld().check(acme)
    await openOld().check({ tenant: 't1' })
    await openNew().check(acme)
    expect(await open(databases).check(acme)).toMatchObject(refusal)
    await open(databases, { from: 'ended' }).check(acme)
    expect((await open(databases).check(acme)).policies[0]).toMatchObject({ remaining: 6 })
    // Late, and right all the same.
    expect((await openNew().check(acme)).policies[0]).toMatchObject({ remaining: 5 })
  })

  it('cannot begin a second move before the first has been ended', async () => {
    const { open, openNew, openOld, databases } = setUp(memory)
    await openOld().check(acme)
    await openNew().check(acme)
    const options = { weights: { c: 2 }, from: before({ stores: ['a', 'b', 'c'] }) }
    expect(await open(databases, options).check(acme)).toMatchObject(refusal)
    await open(databases, { from: 'ended' }).check(acme)
    expect((await open(databases, options).check(acme)).allowed).toBe(true)
  })

  it('may start for a day if its list is the one before', async () => {
    const { open, openNew, openOld, databases } = setUp(memory)
    const stays = { tenant: STAYING }
    await openOld().check(stays)
    await openNew().check(stays)
    const { a, b } = databases
    expect((await open({ a, b }).check(stays)).policies[0]).toMatchObject({ remaining: 7 })
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 86_400_000 })
    try {
      expect(await open({ a, b }).check(stays)).toMatchObject(refusal)
    } finally {
      vi.useRealTimers()
    }
  })

  it('says what to do', async () => {
    const { open, openOld, databases } = setUp(memory)
    await openOld().check(acme)
    const problems: string[] = []
    const extension = listen({ problem: ({ message }) => void problems.push(message) })
    const other = open(databases, {}, [extension])
    await other.check(acme)
    expect(problems).toEqual([
      expect.stringMatching(
        /^Sluice: The databases in use are a, b; home b; this process has a, b, c; home b\. Give it that list, or name it in from of sharded, to move tenants/,
      ),
    ])
  })
})

type Set = ReturnType<typeof setUp>
