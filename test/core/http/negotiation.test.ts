import { refuse, type DenialFormat } from '@sluice/core/http'
import { describe, expect, it } from 'vitest'
import { app, perMinute } from './support.ts'

const PROBLEM = 'application/problem+json'

describe('Accept', () => {
  it.each([
    [PROBLEM, true],
    ['APPLICATION/Problem+JSON', true],
    [`${PROBLEM}, application/json`, true],
    [`application/json;q=0.5, ${PROBLEM}`, true],
    [`${PROBLEM};q=0.001`, true],
    [`${PROBLEM}; charset=utf-8`, true],
    [`application/json, ${PROBLEM};q=0.9`, false],
    [`${PROBLEM};q=0`, false],
    [`${PROBLEM}; q=0.000`, false],
    [`${PROBLEM};charset=utf-8;q=0`, false],
    [`${PROBLEM};q=x`, false],
    [`${PROBLEM}x`, false],
    ['application/problem+xml', false],
    ['application/json', false],
    ['application/*', false],
    ['*/*', false],
    ['', false],
  ])('%s selects the problem format: %s', async (accept, isProblem) => {
    const answer = await app(perMinute(1))({ accept, 'x-tenant': '' })
    expect(answer.status).toBe(400)
    expect(answer.headers.get('content-type') === PROBLEM).toBe(isProblem)
  })

  it('does not change a configured format', async () => {
    const ask = app(perMinute(1), { format: 'openai' })
    await ask()
    const answer = await ask({ accept: PROBLEM })
    expect(await answer.json()).toMatchObject({ error: { type: 'requests' } })
  })
})

describe('a refusal', () => {
  const unavailable = refuse({ status: 503, code: 'closed', message: 'Closed.' })
  const cases = [
    { status: 401, options: { subject: () => null }, code: 'unauthenticated' },
    { status: 400, options: { subject: () => ({ tenant: '' }) }, code: 'invalid_subject' },
    { status: 503, options: { subject: () => unavailable }, code: 'closed' },
  ]
  const shapes: Record<DenialFormat, (status: number, code: string) => object> = {
    default: (_, code) => ({ error: code, message: expect.any(String) as string }),
    nested: (_, code) => ({ error: { code, message: expect.any(String) as string } }),
    openai: (status, code) => ({
      error: { type: status < 500 ? 'invalid_request_error' : 'server_error', param: null, code },
    }),
    problem: (status, code) => ({ type: 'about:blank', status, code }),
  }

  for (const format of Object.keys(shapes) as DenialFormat[]) {
    it.each(cases)(`$status in the format ${format}`, async ({ status, options, code }) => {
      const answer = await app(perMinute(1), { ...options, format })()
      expect(answer.status).toBe(status)
      expect(answer.headers.get('cache-control')).toBe('no-store')
      expect(answer.headers.has('www-authenticate')).toBe(status === 401)
      expect(answer.headers.get('content-type')).toBe(
        format === 'problem' ? PROBLEM : 'application/json',
      )
      expect(await answer.json()).toMatchObject(shapes[format](status, code))
    })
  }

  it('has the phrase of its status as the title of a problem', async () => {
    const answer = await app(perMinute(1), { subject: () => null, format: 'problem' })()
    expect(await answer.json()).toMatchObject({ title: 'Unauthorized' })
    const slowDown = refuse({ status: 429, code: 'slow_down', message: 'Slow down.' })
    const refused = await app(perMinute(1), { subject: () => slowDown, format: 'problem' })()
    expect(await refused.json()).toMatchObject({ title: 'Too Many Requests' })
  })

  it('has the headers of the resolver', async () => {
    const headers = { 'Retry-After': '7' }
    const refusal = refuse({ status: 503, code: 'closed', message: 'Closed.', headers })
    const answer = await app(perMinute(1), { subject: () => refusal })()
    expect(answer.headers.get('retry-after')).toBe('7')
  })

  it.each([200, 302, 399, 600, 404.5, NaN])('cannot have the status %s', (status) => {
    expect(() => refuse({ status, code: 'x', message: 'x' })).toThrow(
      /^Sluice: refuse\.status: must be/,
    )
  })

  it('charges nobody for the request', async () => {
    const limiter = perMinute(1)
    await app(limiter, { subject: () => unavailable })()
    await app(limiter, { subject: () => null })()
    expect((await app(limiter)()).status).toBe(200)
  })
})
