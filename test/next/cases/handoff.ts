import { createHandoff, HANDOFF_HEADER } from '@sluice/core/internal/http'
import { describe, expect, it } from 'vitest'
import { canonical, newTenant, reportOf, type SetUp, type Tenant } from '../support/set-up.ts'

/** Reaches the wrapped handler without its middleware, by `rewrites()`. */
const AROUND = '/v1/evaluate'
const THROUGH = '/api/both/evaluate'

/** Headers that claim that a request has been charged. */
const FORGERIES: Readonly<
  Record<string, (setUp: SetUp & { readonly path: string }, tenant: Tenant) => Promise<unknown>>
> = {
  'that is empty': async () => '',
  'that is random': async () => `${Date.now() + 3_000}.1a.${'0123456789abcdef'.repeat(4)}`,
  'that has no signature': async () => `${Date.now() + 3_000}.1a.`,
  'that is an object’s key': async () => '__proto__',
  'that is very long': async () => `${Date.now() + 3_000}.1a.${'a'.repeat(8_000)}`,
  'signed with another secret': (setUp, tenant) =>
    sign(tenant, { ...setUp, secret: 'y'.repeat(40) }),
  'that has expired': (setUp, tenant) => sign(tenant, { ...setUp, at: Date.now() - 4_001 }),
  'from the future': (setUp, tenant) => sign(tenant, { ...setUp, at: Date.now() + 60_000 }),
  'whose expiry was changed': async (setUp, tenant) => {
    const value = await sign(tenant, { ...setUp, at: Date.now() - 20_000 })
    return value.replace(/^\d+/, String(Date.now() + 3_000))
  },
  'for another route': (setUp, tenant) => sign(tenant, { ...setUp, route: 'both-other' }),
  'for another method': (setUp, tenant) => sign(tenant, { ...setUp, method: 'GET' }),
  'for another path': (setUp, tenant) => sign(tenant, { ...setUp, path: '/api/both/stream' }),
  'for another tenant': (setUp) => sign(newTenant(setUp, 'one'), setUp),
  'sent twice': async (setUp, tenant) => {
    const value = await sign(tenant, setUp)
    return [value, value]
  },
  'with another in front of it': async (setUp, tenant) => ['x', await sign(tenant, setUp)],
}

export function describeHandoff(
  setUp: () => SetUp,
  twin: () => SetUp,
  withoutSecret: () => SetUp,
): void {
  describe('a hand-off', () => {
    it.each(Object.entries(FORGERIES))('%s gains nothing', async (_, forge) => {
      for (const target of [setUp(), withoutSecret()]) {
        for (const path of [AROUND, THROUGH]) {
          const tenant = newTenant(target, target.secret || path === AROUND ? 'one' : 'two')
          for (let attempt = 0; attempt < 3; attempt += 1) {
            const forged = { ...target, secret: setUp().secret, path: handlerPath(target, path) }
            const value = (await forge(forged, tenant)) as string
            await tenant.ask(path, { headers: { [HANDOFF_HEADER]: value } })
          }
          expect({ path, runs: await tenant.runs() }).toEqual({ path, runs: 1 })
        }
      }
    })

    it('that is genuine is accepted if the middleware did not run, as the secret proves it', async () => {
      const tenant = newTenant(setUp(), 'one')
      for (const runs of [1, 2]) {
        const headers = {
          [HANDOFF_HEADER]: await sign(tenant, { ...setUp(), path: handlerPath(setUp(), AROUND) }),
        }
        expect((await tenant.ask(AROUND, { headers })).status).toBe(200)
        expect(await tenant.runs()).toBe(runs)
      }
    })

    it('runs a handler once, however often it is sent, and only under its path', async () => {
      const tenant = newTenant(setUp(), 'one')
      // Nothing is left but what a hand-off is good for.
      await tenant.ask(AROUND)
      const replay = async (path: string, signedFor: string): Promise<number> => {
        const before = await tenant.runs()
        const value = await sign(tenant, { ...setUp(), path: handlerPath(setUp(), signedFor) })
        const headers = { [HANDOFF_HEADER]: value }
        await Promise.all(Array.from({ length: 50 }, () => tenant.ask(path, { headers })))
        return (await tenant.runs()) - before
      }
      expect(await replay(AROUND, AROUND)).toBe(1)
      expect(await replay(AROUND, THROUGH)).toBe(0)
      expect(await replay(THROUGH, THROUGH)).toBe(0)
    })

    it('runs a handler once over two processes that share a store for it', async () => {
      const servers = [setUp(), twin()]
      const tenants = servers.map((server) => newTenant(server, 'one'))
      const [{ headers: mine }] = tenants as [Tenant]
      const path = '/v1/once'
      const signed = { ...setUp(), path: handlerPath(setUp(), path), route: 'once' }
      const headers = { ...mine, [HANDOFF_HEADER]: await sign(tenants[0] as Tenant, signed) }
      await tenants[0]?.ask(path)
      const replays = tenants.flatMap((tenant) =>
        Array.from({ length: 25 }, () => tenant.ask(path, { headers })),
      )
      const statuses = (await Promise.all(replays)).map(({ status }) => status)
      expect(statuses.filter((status) => status === 200)).toHaveLength(1)
      expect(statuses.filter((status) => status === 429)).toHaveLength(49)
    })

    it('that a client sends through the middleware is replaced, genuine or not', async () => {
      const tenant = newTenant(setUp(), 'one')
      for (const status of [200, 429]) {
        const headers = {
          [HANDOFF_HEADER]: await sign(tenant, { ...setUp(), path: handlerPath(setUp(), THROUGH) }),
        }
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

    it('is not visible to its handler', async () => {
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

    it('makes middleware and wrapper together charge a request once', async () => {
      const tenant = newTenant(setUp(), 'two')
      const remaining = []
      for (let request = 0; request < 3; request += 1) {
        const { headers } = await tenant.ask(THROUGH)
        remaining.push(headers['x-ratelimit-remaining'])
      }
      expect(remaining).toEqual([['1'], ['0'], ['0']])
      expect(await tenant.runs()).toBe(2)
    })

    it('does not exist without a secret: middleware and wrapper each charge', async () => {
      const tenant = newTenant(withoutSecret(), 'two')
      const allowed = await tenant.ask(THROUGH)
      expect(allowed.status).toBe(200)
      // Next.js sends those of the middleware, which decided first.
      expect(allowed.headers['x-ratelimit-remaining']).toEqual(['1'])
      const denied = await tenant.ask(THROUGH)
      expect(denied.status).toBe(429)
      expect(await tenant.runs()).toBe(1)
    })
  })
}

interface Terms {
  readonly secret: string | undefined
  readonly path: string
  readonly at?: number
  readonly route?: string
  readonly method?: string
}

/** A path of the app as its handlers see it: without the base path. */
function handlerPath(setUp: SetUp, path: string): string {
  return canonical(setUp, path).slice(setUp.basePath.length)
}

/** The hand-off that the middleware would sign for a tenant's request. */
function sign({ headers }: Tenant, { secret, path, at, route = 'both', method = 'POST' }: Terms) {
  const subject = { tenant: String(headers['x-tenant']), plan: 'one' }
  const handoff = createHandoff(secret ?? '', at === undefined ? {} : { clock: () => at })
  return handoff.sign({ method, route, path, subject })
}
