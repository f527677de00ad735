import {
  createLimiter,
  listen,
  slidingWindow,
  StoreError,
  type Decision,
  type Store,
} from '@sluice/core'
import { memory } from '@sluice/core/memory'
import { sharded } from '@sluice/core/sharded'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'

const RPM = slidingWindow({ name: 'rpm', limit: 20, window: '1m', per: ['tenant'] })
const TENANTS = Array.from({ length: 60 }, (_, index) => `t${index}`)
const [TIMEOUT_MS, TRIP_MS] = [100, 10]

/** A database at the other end of a slow line. */
class Remote implements Store {
  readonly timeoutMs: number | undefined = TIMEOUT_MS
  readonly joins: number[] = []
  /** The fate of the next calls: answered if it has no more. */
  fates: ('lost' | 'refused')[] = []
  /** The fate of all calls. */
  fate: 'answered' | 'lost' | 'refused' = 'answered'
  readonly #store: Store

  constructor(store: Store) {
    this.#store = store
  }

  check: Store['check'] = (request) =>
    this.#send(request.startedAt, () => this.#store.check(request))

  run: Store['run'] = (operation) => {
    if (operation.kind.name === 'join shards') this.joins.push(Date.now())
    return this.#send(operation.startedAt, () => this.#store.run(operation))
  }

  reset: Store['reset'] = (keys) => this.#store.reset(keys)

  #send<T>(startedAt: number, answer: () => Promise<T>): Promise<T> {
    const fate = this.fates.shift() ?? this.fate
    return new Promise((resolve, reject) => {
      const fail = (code: 'store_timeout' | 'store_unreachable') => () =>
        reject(new StoreError(code, code))
      setTimeout(fail('store_timeout'), Math.max(0, startedAt + TIMEOUT_MS - Date.now()))
      if (fate === 'refused') setTimeout(fail('store_unreachable'), TRIP_MS)
      if (fate === 'answered') setTimeout(() => resolve(answer()), TRIP_MS)
    })
  }
}

const databasesOf = <Name extends string>(...names: Name[]) =>
  Object.fromEntries(names.map((name) => [name, memory()])) as Record<Name, Store>

/** A process on these databases. */
function open(databases: Readonly<Record<string, Store>>) {
  const stores = Object.fromEntries(
    Object.entries(databases).map(([name, store]) => [name, new Remote(store)]),
  )
  const limiter = createLimiter({
    store: sharded(stores),
    policies: [RPM],
    onStoreError: 'deny',
    // Not on the console.
    extensions: [listen({ problem: () => {} })],
  })
  const decide = (tenant: string) => limiter.check({ tenant })
  return { stores, decide, joins: () => Object.values(stores).map(({ joins }) => joins.length) }
}

/** The tenants of each of two databases. */
const PLACES = await (async () => {
  const limiter = createLimiter({ store: sharded(databasesOf('a', 'b')), policies: [RPM] })
  const places = new Map<string, string | undefined>()
  for (const tenant of TENANTS) places.set(tenant, (await limiter.peek({ tenant })).place)
  return places
})()
const inPlace = (place: string) => TENANTS.filter((tenant) => PLACES.get(tenant) === place)
const [ofA = ''] = inPlace('a')
const [ofB = ''] = inPlace('b')

/** Decides, and tells how many milliseconds it took. */
async function timed(decide: () => Promise<Decision>): Promise<Decision & { tookMs: number }> {
  const startedAt = Date.now()
  const decision = await decide()
  return { ...decision, tookMs: Date.now() - startedAt }
}

/** Lets time pass until it is settled. */
async function settled<T>(promise: Promise<T>): Promise<T> {
  let leftMs = 1_000
  const stop = (): void => void (leftMs = 0)
  promise.then(stop, stop)
  for (; leftMs > 0; leftMs -= 1) await vi.advanceTimersByTimeAsync(1)
  return promise
}

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date', 'setTimeout', 'clearTimeout'] })
})
afterEach(() => {
  vi.useRealTimers()
  vi.unstubAllGlobals()
})

describe('first decisions that share the question for the list', () => {
  it('have each its own deadline', async () => {
    const { stores, decide, joins } = open(databasesOf('a'))
    stores.a!.fates = ['lost']
    const decisions = [timed(() => decide(ofA))]
    for (let ms = 10; ms < TIMEOUT_MS; ms += 10) {
      await vi.advanceTimersByTimeAsync(10)
      decisions.push(timed(() => decide(ofA)))
    }
    const made = await settled(Promise.all(decisions))
    const causes = made.map(({ degraded }) => degraded?.cause)
    // At 100 ms it is asked again, and answered at 110; the decision itself takes 10 more.
    expect(causes.slice(0, 2)).toEqual(['store_timeout', 'store_timeout'])
    expect(causes.slice(3)).toEqual(Array.from({ length: 7 }, () => undefined))
    expect(joins()).toEqual([2])
  })

  it('end by their own deadlines, and ask once in each, however many they are', async () => {
    const { stores, decide, joins } = open(databasesOf('a'))
    stores.a!.fate = 'lost'
    const decisions: ReturnType<typeof timed>[] = []
    for (let ms = 0; ms < 300; ms += 1) {
      decisions.push(timed(() => decide(ofA)))
      await vi.advanceTimersByTimeAsync(1)
    }
    const made = await settled(Promise.all(decisions))
    expect(new Set(made.map(({ tookMs }) => tookMs))).toEqual(new Set([TIMEOUT_MS]))
    expect(made.every(({ place }) => place === 'a')).toBe(true)
    expect(joins()[0]).toBeLessThanOrEqual(4)
  })
})

describe('a list that the databases do not have', () => {
  it('is asked for at once, and written once in each', async () => {
    const { decide, joins } = open(databasesOf('a', 'b'))
    // All are asked, it is written, and the decision is made.
    expect((await settled(timed(() => decide(ofA)))).tookMs).toBe(3 * TRIP_MS)
    // One call writes it where it is missing.
    expect((await settled(timed(() => decide(ofB)))).tookMs).toBe(2 * TRIP_MS)
    expect((await settled(timed(() => decide(ofB)))).tookMs).toBe(TRIP_MS)
    expect(joins()).toEqual([2, 2])
  })

  it('takes no more calls where all databases are asked at the same time', async () => {
    const { decide, joins } = open(databasesOf('a', 'b'))
    const made = await settled(Promise.all(TENANTS.map((tenant) => timed(() => decide(tenant)))))
    expect(made.filter(({ degraded }) => degraded)).toEqual([])
    expect(joins()).toEqual([2, 2])
  })

  it('takes one call for each database in the next process', async () => {
    const databases = databasesOf('a', 'b')
    const first = open(databases)
    await settled(Promise.all([first.decide(ofA), first.decide(ofB)]))
    const { decide, joins } = open(databases)
    expect((await settled(timed(() => decide(ofA)))).tookMs).toBe(2 * TRIP_MS)
    expect((await settled(timed(() => decide(ofB)))).tookMs).toBe(TRIP_MS)
    expect(joins()).toEqual([1, 1])
  })

  it('takes one call in one database', async () => {
    const { decide, joins } = open(databasesOf('a'))
    expect((await settled(timed(() => decide(ofA)))).tookMs).toBe(2 * TRIP_MS)
    expect(joins()).toEqual([1])
  })
})

/** A process on two databases, of which a does not answer and b has no list. `say` gives a its list. */
function start(fate: Remote['fate'], listOfA: 'same' | 'other') {
  const databases = databasesOf('a', 'b')
  const before = listOfA === 'same' ? databases : { a: databases.a }
  const process = open(databases)
  const say = async () => {
    const other = open(before)
    await settled(other.decide(ofA))
  }
  process.stores.a!.fate = fate
  return { ...process, databases, say }
}

describe.each(['lost', 'refused'] as const)(
  'a process that starts while calls to a are %s',
  (fate) => {
    describe.each(['a server', 'a Worker'])('on %s', (place) => {
      beforeEach(() => {
        if (place === 'a Worker') vi.stubGlobal('WebSocketPair', vi.fn())
      })

      it.each(['one after another', 'at the same time'])(
        'degrades the tenants of a alone, though b has no list: %s',
        async (how) => {
          const { decide } = start(fate, 'same')
          const made = new Map<string, Decision>()
          const decideOne = async (tenant: string) => void made.set(tenant, await decide(tenant))
          if (how === 'at the same time') await settled(Promise.all(TENANTS.map(decideOne)))
          else for (const tenant of TENANTS) await settled(decideOne(tenant))
          const degraded = TENANTS.filter((tenant) => made.get(tenant)?.degraded)
          expect(degraded).toEqual(inPlace('a'))
        },
      )

      it('writes the list once a is back, within a second of decisions', async () => {
        const { decide, databases, stores, say } = start(fate, 'same')
        await settled(decide(ofB))
        await say()
        stores.a!.fate = 'answered'
        await vi.advanceTimersByTimeAsync(1_000)
        await settled(decide(ofB))
        await vi.advanceTimersByTimeAsync(1_000)
        const other = open({ ...databases, c: memory() })
        expect(await settled(other.decide(ofB))).toMatchObject({
          degraded: { cause: 'store_moved' },
        })
      })

      it('refuses the tenants of b once a says that it has another list', async () => {
        const { decide, stores, say } = start(fate, 'other')
        expect((await settled(decide(ofB))).degraded).toBeUndefined()
        await say()
        stores.a!.fate = 'answered'
        await vi.advanceTimersByTimeAsync(1_000)
        await settled(decide(ofB))
        await vi.advanceTimersByTimeAsync(1_000)
        for (const tenant of [ofA, ofB]) {
          expect(await settled(decide(tenant))).toMatchObject({
            degraded: { cause: 'store_moved' },
          })
        }
      })
    })
  },
)
