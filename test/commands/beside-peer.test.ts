import { readFileSync } from 'node:fs'
import { createLimiter, dailyCap, slidingWindow, type Per, type Policy } from '@sluice/core'
import { Ratelimit } from '@upstash/ratelimit'
import { Redis as UpstashClient } from '@upstash/redis'
import { describe, expect, it } from 'vitest'
import { tableOf } from '../support/markdown.ts'
import { ownRedisOverHttp } from '../support/running-redis.ts'
import { freshPrefix } from '../support/stores.ts'

const published = tableOf(
  readFileSync(new URL('../../docs/performance.md', import.meta.url), 'utf8'),
  'limits, outcome',
)
const LIMIT = 60

const own = ownRedisOverHttp()

/** Commands and HTTP requests of one decision. */
interface Price {
  readonly commands: number
  readonly requests: number
}

type Ask = (id: string) => Promise<boolean>

/** Measures `ask` while it allows and when it denies, with scripts already loaded. */
async function prices(ask: Ask): Promise<{ allowed: Price; denied: Price }> {
  await ask('warm')
  const price = async (times: number, answer: boolean): Promise<Price> => {
    const before = own.local.requests
    const { total } = await own.meter.measure(async () => {
      for (let time = 0; time < times; time += 1) expect(await ask('acme')).toBe(answer)
    })
    return { commands: total / times, requests: (own.local.requests - before) / times }
  }
  return { allowed: await price(LIMIT, true), denied: await price(20, false) }
}

const rpm = slidingWindow({ name: 'rpm', limit: LIMIT, window: '30d', per: ['tenant'] })
const daily = dailyCap({ name: 'daily', limit: 1_000, per: ['tenant'] })

const COST = 500
const tier = (name: string, per: Per): Policy =>
  slidingWindow({ name, limit: 1_000, window: '30d', per })
const six = [
  tier('all', 'global'),
  tier('tenant', ['tenant']),
  tier('endpoint', ['tenant', 'route']),
  tier('user', ['tenant', 'user']),
  daily,
  slidingWindow({
    name: 'budget',
    limit: LIMIT * COST,
    window: '30d',
    per: ['tenant'],
    unit: 'usd',
  }),
]

function ours(policies: Policy[]): Ask {
  const store = own.store()
  const limiter = createLimiter({ store, policies })
  const cost = policies.some((policy) => policy()[0]?.unit === 'usd') ? { usd: COST } : {}
  return async (tenant) =>
    (await limiter.check({ tenant, route: 'evaluate', user: 'u1' }, { cost })).allowed
}

/** One call for each limit, the quota first, as its documentation has it. */
function theirs(algorithms: ConstructorParameters<typeof Ratelimit>[0]['limiter'][]): Ask {
  const { url, token } = own.local
  const limiters = algorithms.map(
    (limiter) =>
      new Ratelimit({
        redis: new UpstashClient({ url, token }),
        limiter,
        prefix: freshPrefix(),
        // Its cache answers repeated denials without Redis, within one instance.
        ephemeralCache: false,
        analytics: false,
      }),
  )
  return async (id) => {
    for (const [index, limiter] of limiters.entries()) {
      const rate = index === SIXTH ? COST : 1
      if (!(await limiter.limit(id, { rate })).success) return false
    }
    return true
  }
}

/** The place of the budget among six limits. */
const SIXTH = 5

const window = Ratelimit.slidingWindow(LIMIT, '30 d')
const tierThere = Ratelimit.slidingWindow(1_000, '30 d')
const dayThere = Ratelimit.fixedWindow(1_000, '1 d')
const budgetThere = Ratelimit.slidingWindow(LIMIT * COST, '30 d')
const sixThere = [tierThere, tierThere, tierThere, tierThere, dayThere, budgetThere]

describe('Redis commands and HTTP requests beside @upstash/ratelimit', () => {
  it.each([
    ['a window', () => [ours([rpm]), theirs([window])]],
    ['a daily cap and a window', () => [ours([daily, rpm]), theirs([dayThere, window])]],
    ['four tiers, a daily cap and a budget', () => [ours(six), theirs(sixThere)]],
  ] as const)('%s: the page states the measured numbers', async (limits, start) => {
    const [mine, other] = start()
    const measured = { mine: await prices(mine as Ask), other: await prices(other as Ask) }
    for (const outcome of ['allowed', 'denied'] as const) {
      const [here, there] = [measured.mine[outcome], measured.other[outcome]]
      expect({ limits, outcome, ...published.get(`${limits}, ${outcome}`) }).toMatchObject({
        commands: here.commands.toFixed(2),
        'their commands': there.commands.toFixed(2),
        ratio: (here.commands / there.commands).toFixed(2),
        requests: String(here.requests),
        'their requests': String(there.requests),
      })
    }
  })
})
