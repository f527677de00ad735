import { randomBytes, randomUUID } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { canonical, newTenant, reportOf, type SetUp } from '../support/set-up.ts'

const LIMIT_HEADERS = [
  'x-ratelimit-limit',
  'x-ratelimit-remaining',
  'x-ratelimit-reset',
  'x-ratelimit-scope',
  'ratelimit',
  'ratelimit-policy',
]

/** Claims about an app's own middleware, before and after the limiter, and its handlers. */
export function describeChaining(setUp: () => SetUp): void {
  describe('an app’s own middleware', () => {
    it('keeps its headers and cookies, beside the handler’s and the limits’', async () => {
      for (const path of ['/api/ai/evaluate', '/api/both/evaluate']) {
        const { headers } = await newTenant(setUp(), 'one').ask(path)
        expect(headers).toMatchObject({
          'x-next': ['yes'],
          'x-after': ['yes'],
          'x-handler': [expect.any(String)],
        })
        const cookies = headers['set-cookie']?.map((cookie) => cookie.split(';')[0])
        expect(cookies?.toSorted()).toEqual(['after=3', 'handler=4', 'next-too=2', 'next=1'])
        expect(headers['set-cookie']?.join()).toContain('HttpOnly')
        expect(LIMIT_HEADERS.filter((name) => headers[name]?.length !== 1)).toEqual([])
      }
    })

    it('passes on request headers that it sets, before and after the decision', async () => {
      const tenant = newTenant(setUp(), 'one')
      const { given } = reportOf(
        await tenant.ask('/api/both/evaluate', { headers: { 'x-own': '1' } }),
      )
      expect(given).toMatchObject({ 'x-own': '1', 'x-before': 'yes', 'x-seen': 'charged' })
    })

    it('may answer before the limiter, and nothing is charged', async () => {
      const tenant = newTenant(setUp(), 'one')
      const headers = { 'x-blocked': '1' }
      expect((await tenant.ask('/api/ai/evaluate', { headers })).status).toBe(403)
      expect((await tenant.ask('/api/ai/evaluate')).status).toBe(200)
    })

    it('runs after the limiter on a denial, whose body and headers stay', async () => {
      const tenant = newTenant(setUp(), 'one')
      await tenant.ask('/api/ai/evaluate')
      const { status, headers, body } = await tenant.ask('/api/ai/evaluate')
      expect(status).toBe(429)
      expect(headers).toMatchObject({ 'x-after': ['yes'], 'retry-after': ['3600'] })
      expect(headers).not.toHaveProperty('x-next')
      expect(JSON.parse(body.toString())).toMatchObject({ error: 'rate_limit_exceeded' })
    })

    it('may redirect, with the headers of the limits', async () => {
      const { status, headers } = await newTenant(setUp(), 'one').ask('/api/ai/redirected')
      expect(status).toBe(307)
      expect(headers).toHaveProperty('location')
      expect(headers['x-ratelimit-remaining']).toEqual(['0'])
    })

    it('may rewrite to a wrapped handler, which charges by its own id', async () => {
      const tenant = newTenant(setUp(), 'one')
      expect(reportOf(await tenant.ask('/api/both/rewritten')).handler).toBe('both')
      expect((await tenant.ask('/api/both/evaluate')).status).toBe(429)
      expect(await tenant.runs()).toBe(1)
    })

    it('runs for paths that are not limited, uncharged', async () => {
      const { status, headers, body } = await newTenant(setUp(), 'one').ask('/', { method: 'GET' })
      expect(status).toBe(200)
      expect(body.toString()).toMatch(/home.*free/)
      expect(headers).not.toHaveProperty('ratelimit')
    })
  })

  describe('a stream', () => {
    it.each(['/api/ai/stream', '/api/both/stream'])('passes both ways through %s', async (path) => {
      const { url } = setUp()
      const headers = { 'x-tenant': randomUUID(), 'x-plan': 'one' }
      const sent = randomBytes(300_000)
      const response = await fetch(url + canonical(setUp(), path), {
        method: 'POST',
        headers,
        body: sent,
      })
      expect(response.headers.get('x-ratelimit-remaining')).toBe('0')
      const reader = response.body?.getReader()
      const received: Uint8Array[] = []
      let length = 0
      // The response has not ended, and does not before it is told to.
      while (length < sent.length) {
        const { value = new Uint8Array() } = (await reader?.read()) ?? {}
        received.push(value)
        length += value.length
      }
      expect(Buffer.concat(received).equals(sent)).toBe(true)
      await fetch(url + canonical(setUp(), '/api/report'), { method: 'POST', headers })
      const rest = await reader?.read()
      expect(new TextDecoder().decode(rest?.value)).toBe('end')
    })
  })
}
