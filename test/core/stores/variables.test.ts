import {
  createLimiter,
  definePlans,
  slidingWindow,
  type Limiter,
  type LimiterOptions,
} from '@sluice/core'
import { runtimeConfiguration } from '@sluice/core/configuration'
import { planResolver } from '@sluice/core/plans'
import { reserve } from '@sluice/core/reservations'
import { upstash, type UpstashOptions } from '@sluice/core/upstash'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { ACME } from '../../support/limiters.ts'

const URL_NAME = 'UPSTASH_REDIS_REST_URL'
const TOKEN_NAME = 'UPSTASH_REDIS_REST_TOKEN'
const DATABASE = { [URL_NAME]: 'https://redis.example', [TOKEN_NAME]: 'auth-1' }

/** Answers as a database that counts nothing, and notes where each request went, with which token. */
const calls: string[] = []
const fetch: UpstashOptions['fetch'] = (url, { headers }) => {
  calls.push(`${url} ${headers['authorization']}`)
  return Promise.resolve(Response.json({ result: [0, 1, 9, 0, 0] }))
}

const policies = [slidingWindow({ name: 'rpm', limit: 9, window: '1m', per: ['tenant'] })]

const limiterOf = (options: UpstashOptions, rest: Partial<LimiterOptions> = {}): Limiter =>
  createLimiter({ store: upstash({ fetch, ...options }), policies, ...rest } as LimiterOptions)

const missing = (part: 'url' | 'token') =>
  expect.objectContaining({
    code: 'missing_credentials',
    option: `upstash.${part}`,
    reason: expect.stringMatching(/UPSTASH_REDIS_REST_URL.*_TOKEN.*Worker/) as string,
  }) as Error

beforeEach(() => {
  vi.stubEnv(URL_NAME, undefined)
  vi.stubEnv(TOKEN_NAME, undefined)
  calls.length = 0
})
afterEach(() => {
  vi.unstubAllEnvs()
})

describe('the address of the database', () => {
  it('comes from the environment at the first decision, not at construction', async () => {
    const limiter = limiterOf({})
    vi.stubEnv(URL_NAME, 'https://redis.example')
    vi.stubEnv(TOKEN_NAME, 'auth-1')
    expect(await limiter.check(ACME)).toMatchObject({ allowed: true, degraded: undefined })
    expect(calls).toEqual(['https://redis.example Bearer auth-1'])
  })

  it('is kept after the first decision', async () => {
    const limiter = limiterOf({ env: { ...DATABASE } })
    await limiter.check(ACME)
    vi.stubEnv(URL_NAME, 'https://other.example')
    await limiter.check(ACME)
    expect(new Set(calls)).toEqual(new Set(['https://redis.example Bearer auth-1']))
  })

  it('comes from the bindings of a Worker, before the environment', async () => {
    vi.stubEnv(URL_NAME, 'https://other.example')
    vi.stubEnv(TOKEN_NAME, 'auth-2')
    await limiterOf({ env: DATABASE }).check(ACME)
    expect(calls).toEqual(['https://redis.example Bearer auth-1'])
  })

  it('comes from the options, before the bindings', async () => {
    await limiterOf({ env: DATABASE, url: 'https://third.example' }).check(ACME)
    expect(calls).toEqual(['https://third.example Bearer auth-1'])
  })
})

describe('a missing address is misuse, and never a degraded decision', () => {
  it.each<[string, UpstashOptions, 'url' | 'token']>([
    ['nothing', {}, 'url'],
    ['an empty URL', { url: '', token: 'auth-1' }, 'url'],
    ['only a URL', { url: 'https://redis.example' }, 'token'],
    ['only a token', { token: 'auth-1' }, 'url'],
    ['an empty token', { url: 'https://redis.example', token: '' }, 'token'],
    ['bindings of other names', { env: { REDIS_URL: 'https://redis.example' } as object }, 'url'],
    ['an empty URL beside bindings', { url: '', env: DATABASE }, 'url'],
  ])('%s', async (_, options, part) => {
    const limiter = limiterOf(options)
    await expect(limiter.check(ACME)).rejects.toThrow(missing(part))
    await expect(limiter.peek(ACME)).rejects.toThrow(missing(part))
    await expect(limiter.reset(ACME)).rejects.toThrow(missing(part))
    await expect(reserve(limiter, ACME)).rejects.toThrow(missing(part))
    expect(calls).toEqual([])
  })

  it.each(['allow', 'deny', 'local'] as const)('with onStoreError: %s', async (onStoreError) => {
    await expect(limiterOf({}, { onStoreError }).check(ACME)).rejects.toThrow(missing('url'))
  })

  it('with a plan resolver, which reads the store before the decision', async () => {
    const plans = definePlans({ starter: { rpm: 1 } })
    const extensions = [planResolver(() => 'starter')]
    const limiter = limiterOf({}, { plans, extensions })
    await expect(limiter.check(ACME)).rejects.toThrow(missing('url'))
    await expect(limiter.check(ACME)).rejects.toThrow(missing('url'))
  })

  it('with a runtime configuration, which reads the store before the decision', async () => {
    const extensions = [runtimeConfiguration({ allow: { rpm: ['limit'] } })]
    await expect(limiterOf({}, { extensions }).check(ACME)).rejects.toThrow(missing('url'))
  })
})

it.each([
  ['url', { ...DATABASE, [URL_NAME]: 'redis://u:p@redis.example' }],
  ['token', { ...DATABASE, [TOKEN_NAME]: 'auth- 1' }],
])('a malformed %s in a variable is misuse, and not shown', async (part, env) => {
  const failure = await limiterOf({ env })
    .check(ACME)
    .catch((error: unknown) => error as Error)
  expect(failure).toMatchObject({ code: 'invalid_option', option: `upstash.${part}` })
  expect((failure as Error).message).not.toMatch(/u:p|auth-/)
})
