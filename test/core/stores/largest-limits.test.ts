import { createLimiter, manualClock, type Policy, type Store } from '@sluice/core'
import { batched } from '@sluice/core/batched'
import { memory } from '@sluice/core/memory'
import { reserve } from '@sluice/core/reservations'
import { upstash } from '@sluice/core/upstash'
import { startLocal, type LocalServer } from '@sluice/local'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { KIND_NAMES, KINDS, type Kind } from '../../support/kinds.ts'
import { freshPrefix } from '../../support/stores.ts'
import { NOON } from '../../support/times.ts'

/** A hundred million dollars in micro-dollars. */
const MOST = 100_000_000_000_000
const ACME = { tenant: 'acme' }

/** The kinds that count in products with a window, or in slots, and so less: their errors say how much. */
const LESS: readonly Kind[] = [
  'counter',
  'token bucket',
  'token bucket of intervals',
  'leaky bucket',
  'leaky bucket that waits',
  'calls in flight',
]
/** One that waits denies sooner, because of the wait, and one that is shared, because of its headroom. */
const SOONER: ReadonlySet<Kind> = new Set(['leaky bucket that waits', 'fair shares'])
const COUNTED = KIND_NAMES.filter((kind) => !SOONER.has(kind))
/** The end of a call gives all of its slots back. */
const SETTLED = COUNTED.filter((kind) => kind !== 'calls in flight')

const limiterFor = (store: Store, policy: Policy) =>
  createLimiter({ store, clock: manualClock(NOON), policies: [policy] })

/** The largest limit that a kind takes, which the error for a larger one names. */
function largestOf(kind: Kind): number {
  try {
    limiterFor(memory(), KINDS[kind]('p', MOST))
    return MOST
  } catch (error) {
    return Number(/at most (\d+)/.exec(String(error))?.[1])
  }
}

let servers: Record<'redis' | 'embedded', LocalServer>
beforeAll(async () => {
  servers = {
    redis: await startLocal({ redisUrl: inject('redisUrl') }),
    embedded: await startLocal({ engine: 'embedded' }),
  }
})
afterAll(() => Promise.all(Object.values(servers).map((server) => server.close())))

const over = (engine: 'redis' | 'embedded') => () =>
  upstash({
    url: servers[engine].url,
    token: servers[engine].token,
    prefix: freshPrefix(),
    timeoutMs: 30_000,
  })

const STORES = {
  memory: () => memory(),
  redis: over('redis'),
  'redis, batched': () => batched(over('redis')()),
  'the embedded engine': over('embedded'),
}

it('are a hundred million dollars, except where an error says less', () => {
  expect(KIND_NAMES.filter((kind) => largestOf(kind) < MOST)).toEqual(LESS)
  expect(() => limiterFor(memory(), KINDS['daily cap']('p', MOST + 1))).toThrow(String(MOST))
})

describe.each(Object.entries(STORES))('the largest limits on %s', (_, store) => {
  it.each(COUNTED)('of a %s are counted to the unit', async (kind) => {
    const most = largestOf(kind)
    const limiter = limiterFor(store(), KINDS[kind]('p', most))
    const unit = kind === 'calls in flight' ? 'call' : 'request'
    const take = async (units: number) => {
      const { allowed, policies } = await limiter.check(ACME, { cost: { [unit]: units } })
      return [allowed, policies[0]?.remaining]
    }
    const part = Math.floor(most / 7)
    expect(await take(most - part - 3)).toEqual([true, part + 3])
    expect(await take(part)).toEqual([true, 3])
    expect(await take(4)).toEqual([false, 3])
    expect(await take(3)).toEqual([true, 0])
    expect(await take(1)).toEqual([false, 0])
  })

  it.each(SETTLED)('of a %s are settled to the unit', async (kind) => {
    const most = largestOf(kind)
    const limiter = limiterFor(store(), KINDS[kind]('p', most))
    const left = async () => {
      const { policies } = await limiter.peek(ACME, { cost: { request: 0 } })
      return policies[0]?.remaining
    }
    const part = Math.floor(most / 7)
    const call = await reserve(limiter, ACME, { cost: { request: most } })
    if (!call.allowed) throw new Error('It fits')
    expect((await limiter.check(ACME)).allowed).toBe(false)
    await call.settle({ request: part })
    expect(await left()).toBe(most - part)
    const other = await reserve(limiter, ACME, { cost: { request: 1 } })
    if (!other.allowed) throw new Error('It fits')
    await other.settle({ request: most - part - 1 })
    expect(await left()).toBe(1)
    await other.cancel()
    expect(await left()).toBe(1)
  })
})
