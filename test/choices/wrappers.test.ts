import { mkdtempSync, rmSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { join } from 'node:path'
import {
  manualClock,
  slidingWindow,
  type Limiter,
  type ManualClock,
  type Policy,
  type Store,
  type StoreRequest,
} from '@sluice/core'
import { batched } from '@sluice/core/batched'
import { breaker } from '@sluice/core/breaker'
import { cacheDenials } from '@sluice/core/cache-denials'
import { lease, leased } from '@sluice/core/leases'
import { memory } from '@sluice/core/memory'
import { movedFrom } from '@sluice/core/moves'
import { placeLeases } from '@sluice/core/place-leases'
import { regional } from '@sluice/core/regional'
import { sharded } from '@sluice/core/sharded'
import { upstash } from '@sluice/core/upstash'
import { afterAll, describe, expect, it } from 'vitest'
import { fileStore } from '../docs/extending/file-store.ts'
import { objectChoices } from '../../packages/cloudflare/dist/durable-object/object-choices.js'
import { objectsInProcess } from '../support/objects.ts'
import { sharedRedisOverHttp } from '../support/running-redis.ts'
import { freshPrefix } from '../support/stores.ts'
import { NOON } from '../support/times.ts'
import {
  answersOf,
  checkAtOnce,
  checkInTurn,
  counted,
  HISTORY,
  limiterOn,
  POLICIES,
  TENANT,
  type Pair,
} from './support.ts'

/** A limit of all tenants, of which each process takes blocks, beside those of the table. */
const LEASED: readonly Policy[] = [
  lease(slidingWindow({ name: 'everyone', limit: 90, window: '1h', per: 'global' }), {
    duration: '1s',
  }),
  ...POLICIES,
]

const folder = mkdtempSync(fileURLToPath(new URL('file-', import.meta.url)))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** Halves each limit, as a wrapper may that knows nothing of choices. */
const halving = (store: Store): Store => ({
  ...store,
  check: (request) => store.check({ ...request, entries: halved(request) }),
})

const halved = ({ entries }: StoreRequest): StoreRequest['entries'] =>
  entries.map((entry) => ({
    ...entry,
    limit: Math.ceil(entry.limit / 2),
    burst: Math.ceil(entry.burst / 2),
  }))

let files = 0

/** Stores around a store that is counted, or none that counts. */
const ROWS: Record<
  string,
  {
    readonly make: (inner: Store) => Store
    readonly inner?: () => Store
    readonly policies?: readonly Policy[]
    /** A store that knows choices. @default `inner`, or else a Redis */
    readonly knowing?: () => Store
    /** True if it asks such a store for one choice after the other. @default false: for all of them at once */
    readonly isInTurn?: boolean
  }
> = {
  memory: { make: (store) => store },
  'a breaker': { make: (store) => breaker(store) },
  'one of two shards': {
    make: (store) => sharded({ a: store, b: store }, { shardBy: 'tenant' }),
  },
  'shards of which one is new': {
    make: (store) =>
      sharded({ a: store, b: store }, { from: movedFrom({ stores: ['a'] }), shardBy: 'tenant' }),
  },
  'a region': {
    make: (store) =>
      regional({ home: memory(), here: store, perRegion: POLICIES.map((make) => make()[0]!.name) }),
  },
  'leases from home': {
    make: (store) => sharded({ a: store, b: store }, { shardBy: 'tenant', leases: placeLeases }),
    policies: LEASED,
    isInTurn: true,
  },
  leases: {
    make: (store) => leased(store, { fetchAhead: false }),
    policies: LEASED,
    isInTurn: true,
  },
  'Durable Objects that choose, behind a breaker': {
    make: (store) => breaker(store),
    knowing: () => objectsInProcess({ choices: objectChoices }).store({ timeoutMs: 30_000 }),
  },
  'a store of three methods that knows no choices': {
    make: (store) => store,
    inner: () => fileStore(join(folder, `counts-${(files += 1)}`)),
    isInTurn: true,
  },
  'leases, over a cache of denials': {
    make: (store) => leased(cacheDenials(store), { fetchAhead: false }),
    policies: LEASED,
    isInTurn: true,
  },
  'leases that fetch ahead, over a cache of denials': {
    make: (store) => leased(cacheDenials(store)),
    policies: LEASED,
    isInTurn: true,
  },
  'a wrapper that rewrites entries, over a cache of denials': {
    make: (store) => halving(cacheDenials(store)),
    isInTurn: true,
  },
  'a wrapper that rewrites entries': {
    make: halving,
    isInTurn: true,
  },
  'a wrapper that rewrites entries, of two shards': {
    make: (store) => halving(sharded({ a: store, b: store }, { shardBy: 'tenant' })),
    isInTurn: true,
  },
  'a wrapper that rewrites entries, behind a breaker': {
    make: (store) => breaker(halving(store)),
    isInTurn: true,
  },
}

const own = sharedRedisOverHttp()

describe.each(Object.entries(ROWS))(
  'over %s',
  (_, { make, inner = memory, knowing = inner, policies = POLICIES, isInTurn = false }) => {
    it('chooses as if it were asked for one after another', async () => {
      const [before, clock] = [manualClock(NOON), manualClock(NOON)]
      const inTurn = await answersOf(
        limiterOn(make(inner()), before, policies),
        before,
        checkInTurn,
      )
      const limiter = limiterOn(make(inner()), clock, policies)
      expect(await answersOf(limiter, clock, checkAtOnce)).toEqual(inTurn)
      const fallen = inTurn.filter(({ allowed, choice }) => allowed && choice !== 0)
      expect(fallen.length).toBeGreaterThan(4)
    })

    it('asks a store that knows choices once, or as often as for each alone', async () => {
      const [apart, clock] = [manualClock(NOON), manualClock(NOON)]
      const store = knowing === memory ? () => own.store() : knowing
      const inTurn = await tripsOf(make, store, policies, apart, checkInTurn)
      const atOnce = await tripsOf(make, store, policies, clock, checkAtOnce)
      expect(atOnce).toEqual(isInTurn ? inTurn : HISTORY.map(() => 1))
    })

    it('charges one of them, also if a cache around it does not know that units have come back', async () => {
      const clock = manualClock(NOON)
      const store = make(inner())
      const cached = limiterOn(cacheDenials(store), clock, policies)
      const other = limiterOn(store, clock, policies)
      const pairs = [
        [0, 1],
        [1, 1],
      ] as const
      while ((await checkAtOnce(cached, pairs.slice(0, 1))).allowed);
      await other.reset({ ...TENANT, model: 'm0' }, { policies: ['rpm', 'tpm'] })
      const before = await roomOf(other, pairs)
      expect(await checkAtOnce(cached, pairs)).toMatchObject({ allowed: true })
      expect(before - (await roomOf(other, pairs))).toBe(1)
    })

    it('asks any other store as often as for each alone', async () => {
      const [apart, clock] = [manualClock(NOON), manualClock(NOON)]
      const inTurn = await tripsOf(make, inner, policies, apart, checkInTurn)
      expect(await tripsOf(make, inner, policies, clock, checkAtOnce)).toEqual(inTurn)
    })
  },
)

/** Returns the requests that the models of these choices have left in all. */
async function roomOf(limiter: Limiter, pairs: readonly Pair[]): Promise<number> {
  const rooms = pairs.map(async ([model]) => {
    const { policies } = await limiter.peek(
      { ...TENANT, model: `m${model}` },
      { cost: { token: 0 } },
    )
    return policies.find(({ name }) => name === 'rpm')?.remaining ?? 0
  })
  return (await Promise.all(rooms)).reduce((sum, room) => sum + room, 0)
}

/** Counts the calls of a store for each decision of the history. */
async function tripsOf(
  make: (inner: Store) => Store,
  inner: () => Store,
  policies: readonly Policy[],
  clock: ManualClock,
  ask: typeof checkAtOnce,
): Promise<number[]> {
  const { store, asked } = counted(inner())
  const limiter = limiterOn(make(store), clock, policies)
  // Reads that are made once, such as that of a list of shards.
  await limiter.peek({ tenant: 'acme', model: 'm0' }, { cost: { token: 0 } })
  const trips: number[] = []
  for (const { waitMs, pairs } of HISTORY) {
    clock.advance(waitMs)
    const before = asked.checks + asked.runs
    await ask(limiter, pairs)
    trips.push(asked.checks + asked.runs - before)
  }
  return trips
}

describe.each([
  ['memory', () => memory()],
  ['Redis', () => own.store()],
  ['Durable Objects', () => objectsInProcess().store({ timeoutMs: 30_000 })],
])('a cache of denials over %s', (name, make) => {
  it('makes the choices of a store without it, and denies without a call what it knows all of', async () => {
    const [before, clock] = [manualClock(NOON), manualClock(NOON)]
    const plain = limiterOn(memory(), before)
    const { store, asked } = counted(make())
    const cached = limiterOn(cacheDenials(store), clock)
    const isRedis = name === 'Redis'
    const known = new Set<string>()
    let unasked = 0
    for (const { waitMs, pairs } of [...HISTORY, ...HISTORY]) {
      before.advance(waitMs)
      clock.advance(waitMs)
      if (waitMs > 0) known.clear()
      const calls = asked.checks + asked.runs
      const expected = await checkInTurn(plain, pairs)
      const answer = await checkAtOnce(cached, pairs)
      const made = asked.checks + asked.runs - calls
      // A cached denial waits no longer, and may be about another choice.
      const { retryAfterMs, allowed } = expected
      expect(answer.retryAfterMs ?? Infinity).toBeLessThanOrEqual(retryAfterMs ?? Infinity)
      expect(allowed ? answer : answer.allowed).toEqual(allowed ? expected : false)
      const question = JSON.stringify(pairs)
      const most = isRedis ? 1 : pairs.length
      expect(made).toBeLessThanOrEqual(known.has(question) ? 0 : most)
      if (!allowed) known.add(question)
      if (made === 0) unasked += 1
    }
    expect(unasked).toBeGreaterThan(10)
  })
})

describe('over REST', () => {
  it.each([
    ['each alone', (store: Store) => store],
    ['in batches', batched],
  ])('a decision with choices is one request, %s', async (_, wrap) => {
    const { url, token } = own.local
    const make = () => wrap(upstash({ url, token, prefix: freshPrefix(), timeoutMs: 30_000 }))
    const first = manualClock(NOON)
    // Redis then knows the scripts.
    const answers = await answersOf(limiterOn(make(), first), first, checkAtOnce)
    const clock = manualClock(NOON)
    const limiter = limiterOn(make(), clock)
    const before = own.local.requests
    expect(await answersOf(limiter, clock, checkAtOnce)).toEqual(answers)
    expect(own.local.requests - before).toBe(HISTORY.length)
    const inMemory = manualClock(NOON)
    expect(answers).toEqual(await answersOf(limiterOn(memory(), inMemory), inMemory, checkInTurn))
  })

  it('batches send one with choices alone, and the others of its moment together', async () => {
    const { url, token } = own.local
    const options = { url, token, prefix: freshPrefix(), timeoutMs: 30_000 }
    // Calls of one moment would be one request.
    const store = batched(upstash({ ...options, pipeline: false }))
    const limiter = limiterOn(store, manualClock(NOON))
    const one = () => limiter.check({ tenant: 'acme', model: 'm9' }, { cost: { token: 1 } })
    const several = () =>
      checkAtOnce(limiter, [
        [0, 1],
        [1, 1],
      ])
    const together = () => Promise.all([one(), several(), one(), several()])
    await together()
    const before = own.local.requests
    await together()
    expect(own.local.requests - before).toBe(3)
  })

  it('batches send the first choices of calls behind leases together, as any entries', async () => {
    const { url, token } = own.local
    const options = { url, token, prefix: freshPrefix(), timeoutMs: 30_000, pipeline: false }
    const store = leased(batched(upstash(options)), { fetchAhead: false })
    const limiter = limiterOn(store, manualClock(NOON), LEASED)
    const trips: number[] = []
    // Each takes a larger block of units, until one serves all of the next.
    for (const model of [0, 2, 4, 6, 8]) {
      const before = own.local.requests
      const ask = () =>
        checkAtOnce(limiter, [
          [model, 1],
          [model + 1, 1],
        ])
      await Promise.all([ask(), ask()])
      trips.push(own.local.requests - before)
    }
    expect(Math.min(...trips)).toBe(1)
  })
})
