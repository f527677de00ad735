import type { OutgoingHttpHeaders } from 'node:http'
import { describe, expect, it } from 'vitest'
import { newTenant, type SetUp } from '../support/set-up.ts'

const LIMITED = [
  '/api/ai/evaluate',
  '/api/both/evaluate',
  '/api/wrapped/evaluate',
  '/api/named/evaluate',
]

/** Headers that mean something to Next.js, or to a proxy in front of it. */
const HEADERS: readonly OutgoingHttpHeaders[] = [
  { 'x-middleware-subrequest': 'middleware' },
  { 'x-middleware-subrequest': Array.from({ length: 5 }, () => 'middleware').join(':') },
  { 'x-middleware-subrequest': Array.from({ length: 5 }, () => 'src/middleware').join(':') },
  { 'x-middleware-subrequest': Array.from({ length: 5 }, () => 'proxy').join(':') },
  { 'x-middleware-next': '1' },
  { 'x-middleware-invoke': '1' },
  { 'x-middleware-prefetch': '1' },
  { 'x-middleware-rewrite': '/' },
  { 'x-middleware-override-headers': 'x-tenant', 'x-middleware-request-x-tenant': 'other' },
  { 'x-invoke-path': '/', 'x-invoke-status': '200' },
  { 'x-matched-path': '/' },
  { 'x-nextjs-data': '1' },
  { 'x-nextjs-rewrite': '/' },
  { 'x-now-route-matches': '1=evaluate' },
  { 'x-action-forwarded': '1' },
  { 'next-action': '0'.repeat(42) },
  { rsc: '1' },
  { rsc: '1', 'next-router-prefetch': '1' },
  { purpose: 'prefetch', 'sec-purpose': 'prefetch' },
  { 'x-original-url': '/', 'x-rewrite-url': '/' },
  { 'x-forwarded-host': 'elsewhere.example', 'x-forwarded-proto': 'https' },
  { 'x-forwarded-prefix': '/elsewhere' },
  { 'x-http-method-override': 'OPTIONS' },
  { origin: 'https://elsewhere.example' },
  { origin: 'https://elsewhere.example', 'access-control-request-method': 'POST' },
  { host: 'elsewhere.example' },
]

/** No header and no method gets a request past its budget. */
export function describeRequests(setUp: () => SetUp): void {
  describe('a request', () => {
    it.each(HEADERS)('with %j is counted like any other', async (headers) => {
      for (const path of LIMITED) {
        const tenant = newTenant(setUp(), 'one')
        await tenant.ask(path, { headers })
        await tenant.ask(path, { headers })
        await tenant.ask(path)
        expect(await tenant.runs()).toBeLessThanOrEqual(1)
        const other = newTenant(setUp(), 'one')
        await other.ask(path)
        await other.ask(path, { headers })
        expect({ path, runs: await other.runs() }).toEqual({ path, runs: 1 })
      }
    })

    it.each(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'QUERY'])(
      'of method %s spends the same budget',
      async (method) => {
        for (const path of LIMITED) {
          const tenant = newTenant(setUp(), 'one')
          await tenant.ask(path)
          await tenant.ask(path, { method })
          expect({ path, runs: await tenant.runs() }).toEqual({ path, runs: 1 })
        }
      },
    )

    it('of HEAD, which runs the handler of GET, is charged once', async () => {
      for (const path of LIMITED) {
        const tenant = newTenant(setUp(), 'two')
        for (const [status, runs] of [
          [200, 1],
          [200, 2],
          [429, 2],
        ]) {
          expect(await tenant.ask(path, { method: 'HEAD' })).toMatchObject({ status })
          expect({ path, runs: await tenant.runs() }).toEqual({ path, runs })
        }
      }
    })

    it('without a subject gets 401 and runs nothing', async () => {
      for (const path of LIMITED) {
        const nobody = newTenant(setUp(), 'one')
        const response = await nobody.ask(path, { headers: { 'x-tenant': [] } })
        expect({ path, status: response.status }).toEqual({ path, status: 401 })
        expect(response.headers['www-authenticate']).toEqual(['Bearer'])
      }
    })
  })
}
