import { readFileSync } from 'node:fs'
import {
  concurrency,
  dailyCap,
  fixedWindow,
  leakyBucket,
  projectLimits,
  sessionWindow,
  slidingWindow,
  slidingWindowCounter,
  tokenBucket,
  type Decision,
  type Policy,
} from '@sluice/core'
import { startRedisServer, type RedisServer } from '@sluice/local'
import type { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ACME, setUp } from '../../support/limiters.ts'
import { tableOf } from '../../support/markdown.ts'
import { connect } from '../../support/redis.ts'
import { overTcp } from '../../support/tcp-clients.ts'
import { DAY, MINUTE } from '../../support/times.ts'

const page = readFileSync(new URL('../../../docs/algorithms.md', import.meta.url), 'utf8')
const HEADING = 'bytes, with a limit of'
const published = tableOf(page, HEADING)
const LIMITS = [20, 60, 120, 400, 1_000, 10_000] as const

interface Counted {
  readonly policyOf: (limit: number) => Policy
  /** The time in which the limit is used up. @default at once */
  readonly withinMs?: number
  /** The most requests that it is used up by. @default one for each unit */
  readonly requests?: number
  /** Requests of the window before, which a log may still hold. @default 0 */
  readonly expired?: number
  /** The largest limit, if it is below the largest of the table. */
  readonly most?: number
}

const dayOfProject = (day: number): Policy =>
  projectLimits({ minute: day, hour: day, day, per: ['tenant'] })

/** The ways to count, by the first column of the page's table. */
const COUNTED: Record<string, Counted> = {
  slidingWindow: {
    policyOf: (limit) => slidingWindow({ limit, ...minute }),
    withinMs: MINUTE,
    expired: 15,
  },
  'projectLimits, the day': {
    policyOf: dayOfProject,
    withinMs: DAY,
  },
  concurrency: {
    policyOf: (limit) => concurrency({ name: 'p', limit, per: ['tenant'] }),
    withinMs: 10_000,
    most: 1_000,
  },
  'slidingWindowCounter, 1 segment': {
    policyOf: (limit) => slidingWindowCounter({ limit, ...minute }),
    requests: 1,
  },
  'slidingWindowCounter, 60 segments': {
    policyOf: (limit) => slidingWindowCounter({ limit, segments: 60, ...minute }),
    withinMs: MINUTE,
    requests: 500,
  },
  tokenBucket: { policyOf: (limit) => tokenBucket({ limit, ...minute }), requests: 1 },
  leakyBucket: {
    policyOf: (limit) => leakyBucket({ limit, burst: limit, ...minute }),
    requests: 1,
  },
  fixedWindow: { policyOf: (limit) => fixedWindow({ limit, ...minute }), requests: 1 },
  dailyCap: {
    policyOf: (limit) => dailyCap({ name: 'p', limit, per: ['tenant'] }),
    requests: 1,
  },
  sessionWindow: {
    policyOf: (limit) => sessionWindow({ name: 'p', limit, idle: '1m', per: ['tenant'] }),
    requests: 1,
  },
}
const minute = { name: 'p', window: '1m', per: ['tenant'] } as const

/** Ways to count in a short string of the same size share a row of the page. */
const SHORT = new Set([
  'slidingWindowCounter, 1 segment',
  'tokenBucket',
  'leakyBucket',
  'fixedWindow',
  'dailyCap',
  'sessionWindow',
])
const rowOf = (name: string): string => (SHORT.has(name) ? 'all others' : name)

let server: RedisServer
let redis: Redis
let tcp: ReturnType<typeof overTcp>
beforeAll(async () => {
  server = await startRedisServer()
  redis = connect(server.url)
  tcp = overTcp('ioredis 5', server.url)
})
afterAll(async () => {
  tcp.close()
  redis.disconnect()
  await server.stop()
})

/** Pauses that add up to `totalMs` at most: the same "random" ones every time, exponentially distributed. */
function pauses(count: number, totalMs: number): number[] {
  let seed = 42
  const lengths = Array.from({ length: count }, () => {
    seed = (seed * 48_271) % 2_147_483_647
    return -Math.log(seed / 2_147_483_647)
  })
  const sum = lengths.reduce((total, length) => total + length, 0)
  return lengths.map((length) => Math.floor((length * totalMs) / sum))
}

/** Uses up a limit of a tenant, and returns the bytes of its one key. */
async function bytesWhenFull(counted: Counted, limit: number): Promise<number> {
  const { policyOf, withinMs = 0, requests = limit, expired = 0 } = counted
  const { limiter, clock } = setUp([policyOf(limit)], { store: tcp.make('sluice') })
  for (let time = 0; time < expired; time += 1) await limiter.check(ACME)
  if (expired > 0) clock.advance(MINUTE)
  const count = Math.min(requests, limit)
  // Less than the window, so that none of them has expired.
  const gaps = pauses(count, 0.98 * withinMs)
  const checks: Promise<Decision>[] = []
  for (const [index, gap] of gaps.entries()) {
    const cost = Math.floor((limit * (index + 1)) / count) - Math.floor((limit * index) / count)
    const check = limiter.check(ACME, { cost })
    clock.advance(gap)
    checks.push(check)
    // A server that does not have the script yet decides those that are sent twice out of their order.
    if (index === 0) await check
  }
  for (const { allowed } of await Promise.all(checks)) expect(allowed).toBe(true)
  const keys = await redis.keys('*')
  expect(keys).toHaveLength(1)
  const bytes = await redis.memory('USAGE', keys[0] ?? '', 'SAMPLES', 0)
  await redis.flushall()
  return bytes ?? 0
}

describe('the memory that a key takes in Redis', () => {
  it.each(Object.entries(COUNTED))(
    'for a full %s is as much as the page states',
    async (name, counted) => {
      const row: Record<string, string> = {}
      for (const limit of LIMITS) {
        if (limit > (counted.most ?? limit)) {
          row[limit.toLocaleString('en')] = '–'
          continue
        }
        const bytes = await bytesWhenFull(counted, limit)
        const column = limit.toLocaleString('en')
        const says = published.get(rowOf(name))?.[column] ?? 'nothing'
        const stated = Number(says.replaceAll(',', ''))
        // Redis' versions differ a little.
        const agrees = Math.abs(bytes - stated) <= Math.max(24, stated / 8)
        row[column] = agrees ? says : bytes.toLocaleString('en')
      }
      expect({ [HEADING]: rowOf(name), ...row }).toEqual(published.get(rowOf(name)))
    },
  )

  it('is published for nothing else', () => {
    expect(new Set(published.keys())).toEqual(new Set(Object.keys(COUNTED).map(rowOf)))
  })
})
