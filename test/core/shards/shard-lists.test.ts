import {
  createLimiter,
  listen,
  type Extension,
  type Store,
  type StoreErrorCode,
} from '@sluice/core'
import { configure, runtimeConfiguration } from '@sluice/core/configuration'
import { memory } from '@sluice/core/memory'
import { movedFrom } from '@sluice/core/moves'
import { reservation, reserve } from '@sluice/core/reservations'
import { sharded, type ShardedOptions } from '@sluice/core/sharded'
import { Redis } from 'ioredis'
import { describe, expect, inject, it, vi } from 'vitest'
import { keysUnder } from '../../support/redis.ts'
import { freshPrefix } from '../../support/stores.ts'
import { overTcp } from '../../support/tcp-clients.ts'
import {
  acme,
  BUDGET,
  FIRST,
  FROM_TWO,
  MOVING,
  RPM,
  setUp,
  settings,
  STAYING,
  type Stores,
} from './moving.ts'

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
  const from = movedFrom({ stores: ['a', 'b'], home: 'a' })
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

const limiterOf = (stores: Partial<Stores>, options: ShardedOptions = {}) =>
  createLimiter({
    store: sharded(stores as Stores, options as ShardedOptions<keyof Stores>),
    policies: [RPM, BUDGET],
    extensions: [settings()],
  })

describe('a move', () => {
  const clients = [1, 2, 3].map((n) => () => overTcp('ioredis 5', `${inject('redisUrl')}/${n}`))

  it('leaves no keys that last, but for its lists and settings', async () => {
    const prefix = freshPrefix()
    const connections = clients.map((connect) => connect())
    try {
      const [a, b, c] = connections.map((one) => one.make(prefix)) as [Store, Store, Store]
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
      ({ open, databases }: Set) => open(databases, { from: movedFrom({ stores: ['a', 'c'] }) }),
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
    const options = { weights: { c: 2 }, from: movedFrom({ stores: ['a', 'b', 'c'] }) }
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
