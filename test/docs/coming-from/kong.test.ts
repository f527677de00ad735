import { createLimiter, fixedWindow } from '@sluice/core'
import { rateLimit } from '@sluice/core/http'
import { addressSubject } from '@sluice/core/identity'
import { memory } from '@sluice/core/memory'
import { describe, expect, it } from 'vitest'
import { KongRateLimiting, type KongAnswer, type KongConfig } from './models/kong.ts'
import {
  at,
  block,
  BROKEN,
  cleanUp,
  member,
  requestFrom,
  source,
  START,
  stillClock,
} from './page.ts'

cleanUp()
stillClock()

/** Two consumers' requests, by the milliseconds after midnight: bursts, borders, and hours of both. */
const SEQUENCE: (readonly [ms: number, key: string])[] = [
  // A burst within a second and into the next, by each.
  ...Array.from({ length: 14 }, (_, index) => [index * 130, 'key-1'] as const),
  ...Array.from({ length: 14 }, (_, index) => [2_400 + index * 130, 'key-2'] as const),
  // More than a minute's worth, four in each second, over the minute's border.
  ...Array.from({ length: 160 }, (_, index) => [20_000 + index * 250, 'key-1'] as const),
  // The rest of the hour's worth, and into the next hour.
  ...Array.from({ length: 1_150 }, (_, index) => [120_000 + index * 3_100, 'key-1'] as const),
]

const PERIODS = ['hour', 'minute', 'second']

describe('Kong with a second, a minute and an hour', () => {
  const config = kongConfig('kong.yaml')

  it('lets the same requests pass and reports the same remainder', async () => {
    const { serve } = await block('kong')
    const kong = new KongRateLimiting(config)
    const [theirs, ours] = [[] as object[], [] as object[]]
    for (const [ms, key] of SEQUENCE) {
      const now = at(ms)
      theirs.push({ ms, key, ...seenOfKong(kong.request(key, now)) })
      ours.push({ ms, key, ...numbersOf(await serve(withKey(key)), now) })
    }
    expect(ours).toEqual(theirs)
    // Each period has bound, or the sequence has shown less than it seems to.
    for (const limit of ['5', '100', '1000']) {
      expect(theirs).toContainEqual(expect.objectContaining({ status: 429, limit }))
    }
  })

  it('lets every request pass while Redis is down', async () => {
    const { serve } = await block('kong', { store: BROKEN })
    const kong = new KongRateLimiting(config)
    kong.down = true
    for (let sent = 0; sent < 10; sent += 1) {
      expect((await serve(withKey('key-1'))).status).toBe(kong.request('key-1', START).status)
    }
  })

  it('refuses requests without a key, like key-auth', async () => {
    const { serve } = await block('kong')
    expect((await serve(requestFrom('192.0.2.7'))).status).toBe(401)
  })
})

describe('Kong with custom answers and hidden headers', () => {
  const config: KongConfig = {
    minute: 100,
    fault_tolerant: false,
    hide_client_headers: true,
    error_code: 503,
    error_message: 'Come back later',
  }

  it.each([false, true])('answers the same with a data store that is down: %s', async (down) => {
    const limiter = createLimiter({
      store: down ? BROKEN : memory(),
      policies: [fixedWindow({ name: 'minute', limit: 100, window: '1m', per: ['address'] })],
      onStoreError: 'deny',
    })
    const serve = rateLimit(
      limiter,
      {
        routes: ['/api/**'],
        subject: addressSubject({ from: 1 }),
        headers: false,
        onDenied: ({ reason }) =>
          reason === 'store_unavailable'
            ? Response.json({ message: 'An unexpected error occurred' }, { status: 500 })
            : Response.json({ message: 'Come back later' }, { status: 503 }),
      },
      () => new Response('answer'),
    )
    const kong = new KongRateLimiting(config)
    kong.down = down
    const [theirs, ours] = [[] as object[], [] as object[]]
    for (let sent = 0; sent < 105; sent += 1) {
      const { status, headers, body = 'answer' } = kong.request('192.0.2.7', at(sent * 100))
      theirs.push({ status, headers, body: typeof body === 'string' ? body : JSON.stringify(body) })
      const answer = await serve(requestFrom('192.0.2.7'))
      const limitHeaders = [...answer.headers].filter(([name]) => /limit|retry/.test(name))
      const text = await answer.text()
      ours.push({ status: answer.status, headers: Object.fromEntries(limitHeaders), body: text })
    }
    expect(ours).toEqual(theirs)
    expect(theirs).toContainEqual(expect.objectContaining({ status: down ? 500 : 503 }))
  })
})

/** The plugin's options in a block of the page. */
function kongConfig(name: string): KongConfig {
  const options = source(name).matchAll(/^ +(second|minute|hour|\w+_\w+): (.+)$/gm)
  const values = Array.from(options, ([, option, value = '']) => [
    option,
    /^(\d+|true|false)$/.test(value) ? (JSON.parse(value) as unknown) : value,
  ])
  return Object.fromEntries(values) as KongConfig
}

function withKey(apikey: string): Request {
  return requestFrom('192.0.2.7', '/api/search', { apikey })
}

/** The numbers that Kong reports; for a denial only the periods that deny, as in Sluice. */
function seenOfKong({ status, headers }: KongAnswer) {
  const left = PERIODS.flatMap((period) => {
    const remaining = headers[`x-ratelimit-remaining-${period}`]
    return status === 429 && remaining !== '0' ? [] : [[period, Number(remaining)] as const]
  })
  return {
    status,
    limit: headers['ratelimit-limit'],
    remaining: headers['ratelimit-remaining'],
    reset: Number(headers['ratelimit-reset']),
    retryAfter: headers['retry-after'] ?? null,
    limits: PERIODS.map((period) => Number(headers[`x-ratelimit-limit-${period}`])),
    left,
  }
}

function numbersOf({ status, headers }: Response, now: number) {
  const state = headers.get('ratelimit')
  const left = PERIODS.map((period) => [period, member(state, period)?.get('r')] as const)
  return {
    status,
    limit: headers.get('x-ratelimit-limit'),
    remaining: headers.get('x-ratelimit-remaining'),
    reset: Number(headers.get('x-ratelimit-reset')) - Math.floor(now / 1000),
    retryAfter: headers.get('retry-after'),
    limits: PERIODS.map((period) => member(headers.get('ratelimit-policy'), period)?.get('q')),
    left: left.filter(([, units]) => units !== undefined),
  }
}
