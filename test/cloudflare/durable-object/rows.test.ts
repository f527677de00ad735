import {
  concurrency,
  createLimiter,
  fixedWindow,
  leakyBucket,
  sessionWindow,
  slidingWindow,
  slidingWindowCounter,
  slidingWindows,
  tokenBucket,
  type Policy,
  type Store,
} from '@sluice/core'
import { reserve } from '@sluice/core/reservations'
import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { durableObjects } from '../../../packages/cloudflare/dist/durable-object/durable-objects.js'
import { freshPrefix } from '../../support/stores.ts'
import { tableOf } from '../../support/markdown.ts'
import { startWorkerdObjects, type WorkerdObjects } from '../../support/workerd-objects.ts'

/** Enough for two snapshots, and for the rows of the first call to be a small part. */
const CALLS = 600
const WIDE = { name: 'wide', limit: 100_000, per: ['tenant'] } as const
const NARROW = { name: 'narrow', limit: 10_000, window: '1h', per: ['tenant', 'route'] } as const

/** Two policies of each algorithm. */
const PAIRS: Record<string, readonly Policy[]> = {
  slidingWindow: [slidingWindow({ ...WIDE, window: '1d' }), slidingWindow(NARROW)],
  fixedWindow: [fixedWindow({ ...WIDE, window: '1d' }), fixedWindow(NARROW)],
  slidingWindowCounter: [
    slidingWindowCounter({ ...WIDE, window: '1d' }),
    slidingWindowCounter(NARROW),
  ],
  tokenBucket: [tokenBucket({ ...WIDE, window: '1d' }), tokenBucket(NARROW)],
  leakyBucket: [
    leakyBucket({ ...WIDE, window: '1d', burst: 100_000 }),
    leakyBucket({ ...NARROW, burst: 10_000 }),
  ],
  sessionWindow: [
    sessionWindow({ ...WIDE, idle: '1d' }),
    sessionWindow({ name: 'narrow', limit: 10_000, idle: '1h', per: ['tenant', 'route'] }),
  ],
  slidingWindows: [
    slidingWindows({
      name: 'both',
      per: ['tenant'],
      windows: { hour: { limit: 10_000, window: '1h' }, day: { limit: 100_000, window: '1d' } },
    }),
    slidingWindow(NARROW),
  ],
  concurrency: [
    concurrency({ name: 'calls', limit: 1_000, maxDuration: '1h', per: ['tenant'] }),
    slidingWindow(NARROW),
  ],
}

const page = readFileSync(new URL('../../../docs/without-redis.md', import.meta.url), 'utf8')
const published = tableOf(page, 'call')

let objects: WorkerdObjects

beforeAll(async () => {
  objects = await startWorkerdObjects()
})
afterAll(() => objects[Symbol.asyncDispose]())

function open() {
  const prefix = freshPrefix()
  const store: Store = durableObjects(objects.namespace, { timeoutMs: 30_000, prefix })
  const rows = async () => (await objects.facts(`${prefix}/tenant=acme`)).rows
  return { store, rows }
}

const rowsOf = (call: string): string => published.get(call)?.['rows written'] ?? ''

const SUBJECT = { tenant: 'acme', route: 'chat' }

describe('an object writes', () => {
  it.each(Object.entries(PAIRS))(
    'at most 1.1 rows for a check of two policies with %s',
    async (_, policies) => {
      const { store, rows } = open()
      const limiter = createLimiter({ store, policies })
      for (let done = 0; done < CALLS; done += 20) {
        const checks = Array.from({ length: 20 }, () => limiter.check(SUBJECT))
        for (const { allowed, source } of await Promise.all(checks)) {
          expect({ allowed, source }).toEqual({ allowed: true, source: 'store' })
        }
      }
      const each = (await rows()) / CALLS
      expect(each).toBeLessThanOrEqual(1.1)
      expect(each.toFixed(2)).toBe(rowsOf('a check that is allowed, two policies'))
    },
  )

  it.each(Object.entries(PAIRS))('nothing for a denial or a peek with %s', async (_, policies) => {
    const { store, rows } = open()
    const none = fixedWindow({ name: 'none', limit: 0, window: '1h', per: ['tenant'] })
    const limiter = createLimiter({ store, policies: [...policies, none] })
    for (let time = 0; time < 20; time += 1) {
      expect((await limiter.check(SUBJECT)).allowed).toBe(false)
      await limiter.peek(SUBJECT)
    }
    expect(await rows()).toBe(Number(rowsOf('a check that is denied, or a peek')))
  })

  it('at most 2.3 rows for a reservation and its settlement', async () => {
    const { store, rows } = open()
    const policies = [
      concurrency({ name: 'calls', limit: 100, maxDuration: '10m', per: ['tenant'] }),
      slidingWindow({ ...NARROW, unit: 'token', limit: 1_000_000 }),
      fixedWindow({ ...WIDE, window: '1d', unit: 'usd', limit: 1_000_000_000 }),
    ]
    const limiter = createLimiter({ store, policies })
    const cost = { token: 100, usd: 2_000 }
    for (let done = 0; done < CALLS; done += 20) {
      const calls = Array.from({ length: 20 }, async () => {
        const call = await reserve(limiter, SUBJECT, { cost })
        expect(call.allowed && (await call.settle({ token: 70, usd: 1_234 })).applied).toBe(true)
      })
      await Promise.all(calls)
    }
    const each = (await rows()) / CALLS
    expect(each).toBeLessThanOrEqual(2.3)
    expect(each.toFixed(2)).toBe(rowsOf('a reservation and its settlement'))
  })
})

it('the page multiplies these rows and requests by the prices that it states', () => {
  const [, perRequest, perRow] = (
    /\$([\d.]+) for a million requests, \$([\d.]+) for a million rows/.exec(page) ?? []
  ).map(Number)
  const free = Number(/has ([\d,]+) of each a day/.exec(page)?.[1]?.replace(',', ''))
  for (const row of published.values()) {
    const [requests, rows] = [row['requests'], row['rows written']].map(Number) as [number, number]
    const cost = requests * (perRequest ?? 0) + rows * (perRow ?? 0)
    expect(row['a million']).toBe(`$${cost.toFixed(2)}`)
    const calls = Number(row['a day for free']?.replace(',', ''))
    expect(calls * Math.max(requests, rows)).toBeLessThanOrEqual(free)
    expect(calls * Math.max(requests, rows)).toBeGreaterThan(0.99 * free)
  }
  expect(published.size).toBe(3)
})
