import { createHandoff, HANDOFF_HEADER } from '@sluice/core/http'
import { describe, expect, it } from 'vitest'
import { newTenant, reportOf, type SetUp, type Tenant } from '../support/set-up.ts'

/** Reaches the wrapped handler without its middleware, by `rewrites()`. */
const AROUND = '/v1/evaluate'
const THROUGH = '/api/both/evaluate'

/** Headers that claim that a request has been charged. */
const FORGERIES: Readonly<Record<string, (setUp: SetUp, tenant: Tenant) => Promise<unknown>>> = {
  'that is empty': async () => '',
  'that is random': async () => `${Date.now() + 5_000}.${'0123456789abcdef'.repeat(4)}`,
  'that has no signature': async () => `${Date.now() + 5_000}.`,
  'that is an object’s key': async () => '__proto__',
  'that is very long': async () => `${Date.now() + 5_000}.${'a'.repeat(8_000)}`,
  'signed with another secret': (_, tenant) => sign(tenant, { secret: 'y'.repeat(40) }),
  'that has expired': (setUp, tenant) => sign(tenant, { ...setUp, at: Date.now() - 10_001 }),
  'from the future': (setUp, tenant) => sign(tenant, { ...setUp, at: Date.now() + 60_000 }),
  'whose expiry was changed': async (setUp, tenant) => {
    const value = await sign(tenant, { ...setUp, at: Date.now() - 20_000 })
    return value.replace(/^\d+/, String(Date.now() + 5_000))
  },
  'for another route': (setUp, tenant) => sign(tenant, { ...setUp, route: 'both-other' }),
  'for another method': (setUp, tenant) => sign(tenant, { ...setUp, method: 'GET' }),
  'for another tenant': (setUp) => sign(newTenant(setUp, 'one'), setUp),
  'sent twice': async (setUp, tenant) => {
    const value = await sign(tenant, setUp)
    return [value, value]
  },
  'with another in front of it': async (setUp, tenant) => ['x', await sign(tenant, setUp)],
}

export function describeHandoff(setUp: () => SetUp, withoutSecret: () => SetUp): void {
  describe('a hand-off', () => {
    it.each(Object.entries(FORGERIES))('%s gains nothing', async (_, forge) => {
      for (const target of [setUp(), withoutSecret()]) {
        for (const path of [AROUND, THROUGH]) {
          const tenant = newTenant(target, target.secret || path === AROUND ? 'one' : 'two')
          for (let attempt = 0; attempt < 3; attempt += 1) {
            const value = (await forge({ ...target, secret: setUp().secret }, tenant)) as string
            await tenant.ask(path, { headers: { [HANDOFF_HEADER]: value } })
          }
          expect({ path, runs: await tenant.runs() }).toEqual({ path, runs: 1 })
        }
      }
    })

    it('that is real is taken where the middleware did not run: the secret is the proof', async () => {
      const tenant = newTenant(setUp(), 'one')
      for (const runs of [1, 2]) {
        const headers = { [HANDOFF_HEADER]: await sign(tenant, setUp()) }
        expect((await tenant.ask(AROUND, { headers })).status).toBe(200)
        expect(await tenant.runs()).toBe(runs)
      }
    })

    it('that a client sends through the middleware is replaced, real or not', async () => {
      const tenant = newTenant(setUp(), 'one')
      for (const status of [200, 429]) {
        const headers = { [HANDOFF_HEADER]: await sign(tenant, setUp()) }
        expect((await tenant.ask(THROUGH, { headers })).status).toBe(status)
      }
    })

    it('never reaches a handler from a client through the middleware', async () => {
      for (const target of [setUp(), withoutSecret()]) {
        const tenant = newTenant(target, 'two')
        const headers = { [HANDOFF_HEADER]: 'mine' }
        const { given } = reportOf(await tenant.ask('/api/ai/evaluate', { headers }))
        expect(given[HANDOFF_HEADER]).not.toBe('mine')
      }
    })

    it('is not shown to the handler that it was made for', async () => {
      const { given } = reportOf(await newTenant(setUp(), 'one').ask(THROUGH))
      expect(given).not.toHaveProperty(HANDOFF_HEADER)
    })

    it('never leaves the server', async () => {
      for (const path of [THROUGH, '/api/ai/evaluate']) {
        const tenant = newTenant(setUp(), 'one')
        for (const response of [await tenant.ask(path), await tenant.ask(path)]) {
          expect(JSON.stringify(response.headers)).not.toContain(HANDOFF_HEADER)
        }
      }
    })

    it('has a request charged once by middleware and wrapper together', async () => {
      const tenant = newTenant(setUp(), 'two')
      const remaining = []
      for (let request = 0; request < 3; request += 1) {
        const { headers } = await tenant.ask(THROUGH)
        remaining.push(headers['x-ratelimit-remaining'])
      }
      expect(remaining).toEqual([['1'], ['0'], ['0']])
      expect(await tenant.runs()).toBe(2)
    })

    it('is not there without a secret: middleware and wrapper each charge', async () => {
      const tenant = newTenant(withoutSecret(), 'two')
      expect((await tenant.ask(THROUGH)).status).toBe(200)
      const denied = await tenant.ask(THROUGH)
      expect(denied.status).toBe(429)
      expect(await tenant.runs()).toBe(1)
    })
  })
}

interface Terms {
  readonly secret: string | undefined
  readonly at?: number
  readonly route?: string
  readonly method?: string
}

/** What the middleware would sign for a tenant's request. */
function sign({ headers }: Tenant, { secret, at, route = 'both', method = 'POST' }: Terms) {
  const subject = { tenant: String(headers['x-tenant']), plan: 'one' }
  const handoff = createHandoff(secret ?? '', at === undefined ? Date.now : () => at)
  return handoff.sign({ method, route, subject })
}
