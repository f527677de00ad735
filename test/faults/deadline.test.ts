import { createLimiter, definePlans, slidingWindow, type Limiter } from '@sluice/core'
import { runtimeConfiguration } from '@sluice/core/configuration'
import { planResolver } from '@sluice/core/plans'
import { upstash } from '@sluice/core/upstash'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { sharedRedisOverHttp } from '../support/running-redis.ts'
import { freshPrefix } from '../support/stores.ts'

const TIMEOUT_MS = 400
/** In time for one request, not for two. */
const ANSWER_MS = 320
/** The milliseconds by which the clock moves at once. */
const STEP_MS = 10

type Fetch = NonNullable<NonNullable<Parameters<typeof upstash>[0]>['fetch']>

/** The requests to a slow Redis: the wait for each, and the number that was aborted. */
class SlowRedis {
  readonly waits: number[] = []
  aborted = 0
  /** Requests on their way to the real Redis, which takes none of the time of the test. */
  #underWay = 0

  readonly fetch: Fetch = async (url, init) => {
    const beganAt = Date.now()
    this.#underWay += 1
    const { ok, status, text } = await forward(url, init)
    this.#underWay -= 1
    await new Promise<void>((resolve, reject) => {
      const timer = setTimeout(() => {
        this.waits.push(Date.now() - beganAt)
        resolve()
      }, ANSWER_MS)
      init.signal.addEventListener('abort', () => {
        clearTimeout(timer)
        this.aborted += 1
        this.waits.push(Date.now() - beganAt)
        reject(new Error('It is aborted'))
      })
    })
    return { ok, status, text: () => Promise.resolve(text) }
  }

  /** Moves the clock on until `promise` has come to something. */
  async outlast<T>(promise: Promise<T>): Promise<T> {
    const open = new Set([promise])
    const settled = promise.finally(() => open.delete(promise))
    for (let step = 0; step < 100_000; step += 1) {
      await new Promise(setImmediate)
      if (open.size === 0) break
      if (this.#underWay === 0) vi.advanceTimersByTime(STEP_MS)
    }
    return settled
  }
}

async function forward(url: string, { method, headers, body }: Parameters<Fetch>[1]) {
  const response = await fetch(url, { method, headers, body })
  return { ok: response.ok, status: response.status, text: await response.text() }
}

const plans = definePlans({ starter: { rpm: 5 }, growth: { rpm: 50 } })
const subject = { tenant: 'acme' }

const EXTENSIONS = {
  'no extension': () => [],
  runtimeConfiguration: () => [runtimeConfiguration({ allow: { rpm: ['limit'] } })],
  planResolver: () => [planResolver(() => 'growth')],
  'both of them': () => [
    runtimeConfiguration({ allow: { rpm: ['limit'] } }),
    planResolver(() => 'growth'),
  ],
} as const

const shared = sharedRedisOverHttp()

function limiterOf(name: keyof typeof EXTENSIONS, send: Fetch): Limiter {
  const { url, token } = shared.local
  const options = { url, token, prefix: freshPrefix(), timeoutMs: TIMEOUT_MS }
  return createLimiter({
    store: upstash({ ...options, fetch: send }),
    plans,
    extensions: EXTENSIONS[name](),
    policies: [
      slidingWindow({
        name: 'rpm',
        limit: ({ plan }) => plan['rpm'],
        window: '1m',
        per: ['tenant'],
      }),
    ],
  })
}

describe('one timeout covers a first decision with', () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] })
  })
  afterEach(() => {
    vi.useRealTimers()
  })

  it.each([
    ['no extension', 0, ANSWER_MS, 1],
    ['runtimeConfiguration', 1, TIMEOUT_MS, 1],
    ['planResolver', 1, TIMEOUT_MS, 1],
    // Which ask side by side.
    ['both of them', 1, TIMEOUT_MS, 2],
  ] as const)('%s', async (name, aborted, tookMs, asking) => {
    // Redis knows the scripts, and so does this process.
    const prompt = limiterOf(name, async (url, init) => {
      const { text, ...rest } = await forward(url, init)
      return { ...rest, text: () => Promise.resolve(text) }
    })
    expect((await prompt.check(subject)).degraded).toBeUndefined()

    const redis = new SlowRedis()
    const limiter = limiterOf(name, redis.fetch)
    const beganAt = Date.now()
    const decision = await redis.outlast(limiter.check(subject))
    const took = Date.now() - beganAt
    expect(took).toBeGreaterThanOrEqual(tookMs)
    expect(took).toBeLessThanOrEqual(tookMs + STEP_MS)
    expect(redis.aborted).toBe(aborted)
    expect(decision.degraded).toEqual(
      aborted > 0 ? { cause: 'store_timeout', mode: 'local' } : undefined,
    )
    const waited = redis.waits.reduce((sum, wait) => sum + wait, 0)
    expect(waited).toBeLessThanOrEqual(asking * (TIMEOUT_MS + STEP_MS))
  })
})
