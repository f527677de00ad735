import { dailyCap, slidingWindow, type DeniedDecision } from '@sluice/core'
import { denialBody, tooManyRequests, type DenialFormat } from '@sluice/core/http'
import { describe, expect, it } from 'vitest'
import { MIDNIGHT } from '../../support/times.ts'
import { denied, setUpAtMidnight, outage, state } from './support.ts'

const FORMATS: DenialFormat[] = ['default', 'nested', 'problem', 'openai']
const QUOTAS = ['daily_quota_exceeded', 'monthly_quota_exceeded', 'quota_exceeded'] as const
const TYPES = 'https://iana.org/assignments/http-problem-types#'

/** A limiter that has been asked until it denied. */
async function spent(policy: 'daily' | 'rpm', cost = 1): Promise<DeniedDecision> {
  const { limiter } = setUpAtMidnight(
    policy === 'daily'
      ? dailyCap({ name: 'daily', limit: 1, per: ['tenant'] })
      : slidingWindow({ name: 'rpm', limit: 1, window: '1m', per: ['tenant'] }),
  )
  if (cost === 1) await limiter.check({ tenant: 'acme' })
  const decision = await limiter.check({ tenant: 'acme' }, { cost })
  if (decision.allowed) throw new Error('It should have denied')
  return decision
}

const read = async (response: Response) => (await response.json()) as Record<string, unknown>

describe('a denial', () => {
  it('default: gives the reason, the policy and the retry time', async () => {
    expect(await read(tooManyRequests(await spent('rpm')))).toEqual({
      error: 'rate_limit_exceeded',
      message: 'This call may cost 1; 0 of 1 requests of policy "rpm" are left. Retry in 60 s.',
      policy: 'rpm',
      scope: 'tenant',
      retryAfter: 60,
      resetAt: MIDNIGHT / 1000 + 60,
    })
  })

  it('nested: gives the same inside error, with the reason as its code', async () => {
    const decision = await spent('rpm')
    const { error: code, ...rest } = denialBody(decision)
    expect(await read(tooManyRequests(decision, { format: 'nested' }))).toEqual({
      error: { code, ...rest },
    })
  })

  it("problem: is the draft's quota-exceeded with exactly the policies that deny", async () => {
    const rpm = state({ name: 'rpm', fits: false, retryAfterMs: 5_000 })
    const hourly = state({ name: 'hourly', fits: false, retryAfterMs: 4_000 })
    const decision = denied(rpm, hourly, state({ name: 'daily' }))
    const response = tooManyRequests(decision, { format: 'problem' })
    expect(response.status).toBe(429)
    expect(response.headers.get('content-type')).toBe('application/problem+json')
    expect(await read(response)).toMatchObject({
      type: `${TYPES}quota-exceeded`,
      title: 'Quota exceeded',
      status: 429,
      'violated-policies': ['rpm', 'hourly'],
      retryAfter: 5,
    })
  })

  it('problem: is a 503 with temporary-reduced-capacity for an outage', async () => {
    const response = tooManyRequests(await outage(), { format: 'problem' })
    expect(response.status).toBe(503)
    expect(response.headers.get('content-type')).toBe('application/problem+json')
    expect(response.headers.get('retry-after')).toBe('1')
    expect(await read(response)).toMatchObject({
      type: `${TYPES}temporary-reduced-capacity`,
      status: 503,
      'violated-policies': [],
      code: 'store_unavailable',
    })
  })

  it.each([
    ['rpm', 'requests', 'rate_limit_exceeded'],
    ['daily', 'insufficient_quota', 'insufficient_quota'],
  ] as const)('openai: %s has the type %s of OpenAI', async (policy, type, code) => {
    const body = await read(tooManyRequests(await spent(policy), { format: 'openai' }))
    const { message, ...error } = body['error'] as Record<string, unknown>
    expect(error).toEqual({ type, param: null, code })
    expect(message).toMatch(/^This call may cost 1; 0 of 1 requests /)
  })

  it.each(QUOTAS)('openai: a policy with the reason %s is a spent quota', async (reason) => {
    const fields = { reason, fits: false, retryAfterMs: 90_000 }
    const decision = denied(state({ name: 'quota', ...fields }))
    expect(await read(tooManyRequests(decision, { format: 'openai' }))).toMatchObject({
      error: {
        message: expect.stringMatching(/ until 01 Jan 2026 00:01:30 GMT\.$/) as string,
        type: 'insufficient_quota',
        code: 'insufficient_quota',
      },
    })
  })

  it.each(QUOTAS)('default, nested and problem: the code is %s itself', async (reason) => {
    const decision = denied(state({ name: 'quota', reason, fits: false, retryAfterMs: 90_000 }))
    const bodies = ['default', 'nested', 'problem'] as const
    const [plain, nested, problem] = await Promise.all(
      bodies.map((format) => read(tooManyRequests(decision, { format }))),
    )
    expect([plain, nested, problem]).toMatchObject([
      { error: reason },
      { error: { code: reason } },
      { code: reason },
    ])
  })

  it('openai: names tokens as tokens, and an outage as a server error', async () => {
    const tokens = denied(state({ name: 'tpm', unit: 'token', fits: false, retryAfterMs: 1 }))
    const format = 'openai'
    expect(await read(tooManyRequests(tokens, { format }))).toMatchObject({
      error: { type: 'tokens' },
    })
    expect(await read(tooManyRequests(await outage(), { format }))).toMatchObject({
      error: { type: 'server_error' },
    })
  })

  it.each(FORMATS)('%s: is JSON, never cached, and carries the headers', async (format) => {
    const response = tooManyRequests(await spent('rpm'), { format })
    expect(response.headers.get('content-type')).toMatch(/^application\/(problem\+)?json/)
    expect(response.headers.get('cache-control')).toBe('no-store')
    expect(response.headers.get('retry-after')).toBe('60')
    expect(response.headers.get('ratelimit')).toBe('"rpm";r=0;t=60')
  })

  it.each(FORMATS)('%s: says that a cost can never fit, and gives no retry time', async (f) => {
    const response = tooManyRequests(await spent('rpm', 7), { format: f })
    expect(response.headers.has('retry-after')).toBe(false)
    expect(response.headers.get('x-should-retry')).toBe('false')
    const text = await response.text()
    expect(text).toContain(
      'This call may cost 7; 1 of 1 requests of policy \\"rpm\\" are left. It never fits.',
    )
    expect(text).not.toContain('Retry in')
  })

  it.each(FORMATS)('%s: does not name the subject', async (format) => {
    const response = tooManyRequests(await spent('rpm'), { format })
    const text = JSON.stringify([...response.headers]) + (await response.text())
    expect(text).not.toContain('acme')
  })
})
