import { createLimiter, slidingWindow, StoreError, type Store } from '@sluice/core'
import { batched } from '@sluice/core/batched'
import { cacheDenials } from '@sluice/core/cache-denials'
import { leased } from '@sluice/core/leases'
import { memory } from '@sluice/core/memory'
import { upstash } from '@sluice/core/upstash'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { loosely, mistakesAreNamed } from '../../../support/mistakes.ts'
import { ownRedisOverHttp } from '../../../support/running-redis.ts'
import { freshPrefix } from '../../../support/stores.ts'
import { heldBack } from '../pipeline/support.ts'
import { both, causes, checks, none, recordingFetch, rpm, setUp, stopDates } from './support.ts'

const own = ownRedisOverHttp()

stopDates()
afterEach(() => {
  vi.unstubAllGlobals()
})

const fail = (): Promise<never> => Promise.reject(new StoreError('store_unreachable', 'none'))

/** A store that notes how many decisions it gets in a call, and makes none. */
function countingStore(): { store: Store; calls: number[] } {
  const calls: number[] = []
  const store: Store = {
    check: () => {
      calls.push(1)
      return fail()
    },
    run: ({ data }) => {
      calls.push((data as { requests: readonly unknown[] }).requests.length)
      return fail()
    },
    reset: () => Promise.resolve(),
  }
  return { store, calls }
}

describe('a call of batched', () => {
  it('has at most maxDecisions decisions', async () => {
    const { store, calls } = countingStore()
    const limiter = createLimiter({
      store: batched(store, { maxDecisions: 20 }),
      policies: both,
      onStoreError: 'deny',
    })
    await checks(limiter, 50)
    expect(calls).toEqual([20, 20, 10])
  })

  it('has at most 256 entries', async () => {
    const { store, calls } = countingStore()
    const policies = Array.from({ length: 10 }, (_, index) =>
      slidingWindow({ name: `w${index}`, limit: 20, window: '1h', per: ['tenant'] }),
    )
    const limiter = createLimiter({ store: batched(store), policies, onStoreError: 'deny' })
    await checks(limiter, 30)
    expect(calls).toEqual([25, 5])
  })

  it('has no checks whose deadlines are more than 20 ms apart', async () => {
    const { store, calls } = countingStore()
    const together = batched(store)
    const limiter = createLimiter({
      store: {
        ...store,
        async check(request) {
          const later = (ms: number) =>
            together.check({ ...request, startedAt: request.startedAt + ms })
          await Promise.allSettled([later(0), later(12), later(20), later(21), later(900)])
          return fail()
        },
      },
      policies: [rpm],
      onStoreError: 'deny',
    })
    await limiter.check({ tenant: 'a' })
    expect(calls).toEqual([3, 1, 1])
  })

  it('has the deadline of the check that began first, wherever it stands', async () => {
    const { store } = countingStore()
    const begins: number[] = []
    const noting: Store = {
      ...store,
      run(operation) {
        begins.push(operation.startedAt)
        return fail()
      },
    }
    const together = batched(noting)
    let first = 0
    const limiter = createLimiter({
      store: {
        ...noting,
        async check(request) {
          first = request.startedAt
          const later = (ms: number) => together.check({ ...request, startedAt: first + ms })
          const [reply] = await Promise.all([later(12), later(0), later(20)])
          return reply
        },
      },
      policies: [rpm],
      onStoreError: 'deny',
    })
    await limiter.check({ tenant: 'a' })
    expect(begins).toEqual([first])
  })

  it('has the checks of several events of a turn only while another call is under way', async () => {
    const { store, calls } = countingStore()
    const { held, letGo } = heldBack()
    const slow: Store = {
      ...store,
      async check() {
        calls.push(1)
        await held
        return fail()
      },
    }
    const limiter = createLimiter({
      store: batched(slow),
      policies: [rpm],
      onStoreError: 'deny',
    })
    const inEvents = (): Promise<unknown> =>
      Promise.all(
        Array.from(
          { length: 8 },
          (_, index) =>
            new Promise((resolve) => {
              setImmediate(() => resolve(limiter.check({ tenant: `t${index}` })))
            }),
        ),
      )
    const first = limiter.check({ tenant: 'first' })
    await inEvents()
    expect(calls).toEqual([1, 8])
    letGo()
    await first
    await limiter.check({ tenant: 'alone' })
    expect(calls).toEqual([1, 8, 1])
  })

  it('repeats nothing but the id of a decision that is like the one before', async () => {
    const { limiter, bodies } = await setUp(own)
    await Promise.all(Array.from({ length: 2 }, () => limiter.check({ tenant: 'a' })))
    await Promise.all(Array.from({ length: 12 }, () => limiter.check({ tenant: 'a' })))
    const [two = '', twelve = ''] = bodies
    expect(twelve.length - two.length).toBeLessThan(10 * 40)
  })

  it('is not shared where a request must not wait for the promise of another', async () => {
    const { limiter, bodies } = await setUp(own)
    vi.stubGlobal('WebSocketPair', vi.fn())
    expect(causes(await checks(limiter, 4))).toEqual(none(4))
    expect(bodies).toHaveLength(4)
    const { bodies: sent, send } = recordingFetch()
    const { url, token } = own.local
    const prefix = freshPrefix()
    const store = upstash({ url, token, prefix, fetch: send, pipeline: true })
    await Promise.all([store.reset(['a']), store.reset(['b'])])
    expect(sent).toHaveLength(2)
  })

  it('is not shared by a store without scripts', async () => {
    const limiter = createLimiter({ store: batched(memory()), policies: [rpm] })
    const decisions = await checks(limiter, 25, 1)
    expect(decisions.filter(({ allowed }) => allowed)).toHaveLength(20)
  })
})

describe('a mistake in the options of batched is an error that names the option', () => {
  mistakesAreNamed([
    ['no store', () => loosely(batched)(undefined), 'batched.store'],
    [
      'a limiter',
      () => batched(createLimiter({ store: memory(), policies: [rpm] }) as never),
      'batched.store',
    ],
    ['a cache of denials', () => batched(cacheDenials(memory())), 'batched.store'],
    ['a store of leases', () => batched(leased(memory())), 'batched.store'],
    ['a batched store', () => batched(batched(memory())), 'batched.store'],
    ['no decisions', () => batched(memory(), { maxDecisions: 0 }), 'batched.maxDecisions'],
    ['too many decisions', () => batched(memory(), { maxDecisions: 129 }), 'batched.maxDecisions'],
    [
      'an unknown option',
      () => batched(memory(), { max: 2 } as never),
      'batched.max',
      'unknown_option',
    ],
  ])
})
