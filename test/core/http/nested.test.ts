import {
  rateLimit,
  rateLimitHeaders,
  tooManyRequests,
  type AdapterOptions,
} from '@sluice/core/http'
import { describe, expect, it } from 'vitest'
import { ACME } from '../../support/limiters.ts'
import { app, outage, perMinute, subject } from './support.ts'

const routes = ['/**']
const answer = (): Response => new Response('answer')

/** Asks a limiter of 50 around one of 1, twice: the inner one denies the second request. */
async function askTwice(
  inner: Partial<AdapterOptions> = {},
  outer: Partial<AdapterOptions> = {},
): Promise<readonly [Response, Response]> {
  const limited = rateLimit(perMinute(1), { routes, subject, ...inner }, answer)
  const ask = app(perMinute(50), outer, limited)
  return [await ask(), await ask()]
}

const shown = ({ headers }: Response): Record<string, string> =>
  Object.fromEntries([...headers].filter(([name]) => /rate-?limit|retry/.test(name)))

const DENIAL = {
  'retry-after': '60',
  'x-should-retry': 'false',
  'x-ratelimit-limit': '1',
  'x-ratelimit-remaining': '0',
  'x-ratelimit-reset': expect.any(String),
  'x-ratelimit-scope': 'tenant',
  'ratelimit-policy': '"rpm";q=1;w=60',
  ratelimit: '"rpm";r=0;t=60',
}

describe('a limiter around another one', () => {
  it('leaves the headers of a denial as they are', async () => {
    const [, denied] = await askTwice()
    expect(denied.status).toBe(429)
    expect(shown(denied)).toEqual(DENIAL)
  })

  it.each([
    ['of another style', { headers: ['draft'] }, ['ratelimit', 'ratelimit-policy']],
    ['of which there are none', { headers: false }, []],
  ] as const)('adds none to those of a denial %s', async (_, inner, names) => {
    const [, denied] = await askTwice(inner, { headers: ['x-ratelimit', 'openai'] })
    expect(denied.status).toBe(429)
    expect(Object.keys(shown(denied)).filter((name) => !name.includes('retry'))).toEqual(names)
  })

  it('adds none to the answer in place of a 429, which tells when to come back', async () => {
    const [, cached] = await askTwice({ onDenied: () => new Response('cached') })
    expect([cached.status, await cached.text()]).toEqual([200, 'cached'])
    expect(cached.headers.get('x-ratelimit-remaining')).toBe('0')
  })

  it('adds none to the 503 of a limiter whose store failed, nor to what a handler denies', async () => {
    const failed = tooManyRequests(await outage())
    expect(shown(await app(perMinute(50), {}, () => failed)())).toEqual(shown(failed))
    const byHand = perMinute(0)
    const ask = app(perMinute(50), {}, async () => {
      const decision = await byHand.check(ACME)
      return new Response('busy', { status: 429, headers: rateLimitHeaders(decision) })
    })
    expect((await ask()).headers.get('x-ratelimit-limit')).toBe('0')
  })

  it('shows its own headers on any other response', async () => {
    const [allowed] = await askTwice({}, { headers: ['x-ratelimit'] })
    expect(allowed.headers.get('x-ratelimit-limit')).toBe('50')
    const nobody = await askTwice({ subject: () => null })
    expect(nobody.map(({ status }) => status)).toEqual([401, 401])
    expect(nobody[0].headers.get('x-ratelimit-limit')).toBe('50')
    const silent = await askTwice({}, { headers: [] })
    expect(silent[0].headers.get('x-ratelimit-limit')).toBe('1')
  })
})
