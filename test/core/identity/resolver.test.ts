import { fixedWindow, type Limiter } from '@sluice/core'
import { limitGuesses, rateLimit, refuse, type SubjectResolver } from '@sluice/core/http'
import { addressSubject, allOf, firstOf, headerSubject } from '@sluice/core/identity'
import { describe, expect, it, vi } from 'vitest'
import { setUp } from '../../support/limiters.ts'

const request = (headers: Record<string, string> = {}) =>
  new Request('https://app.example/', { headers })
const acme = () => ({ tenant: 'acme', plan: 'growth' })
const noSubject = () => null
const banned = refuse({ status: 403, code: 'banned', message: 'You are banned.' })

describe('firstOf', () => {
  it('asks in order, and stops at the first subject', async () => {
    const last = vi.fn<() => { tenant: string }>(() => ({ tenant: 'last' }))
    expect(await firstOf(noSubject, acme, last)(request())).toEqual(acme())
    expect(last).not.toHaveBeenCalled()
  })

  it('finds no subject if none of its resolvers does', async () => {
    expect(await firstOf(noSubject, () => undefined)(request())).toBeNull()
  })

  it('keeps a refusal, whatever the next resolver says', async () => {
    expect(await firstOf(noSubject, () => banned, acme)(request())).toBe(banned)
  })
})

describe('allOf', () => {
  const project = headerSubject({ header: 'X-Project-ID', dimension: 'project' })

  it('combines the dimensions that each resolver finds', async () => {
    const subject = await allOf(acme, project)(request({ 'x-project-id': 'p1' }))
    expect(subject).toEqual({ tenant: 'acme', plan: 'growth', project: 'p1' })
  })

  it('finds no subject unless each resolver does', async () => {
    expect(await allOf(acme, noSubject)(request())).toBeNull()
    expect(await allOf(acme, () => banned)(request())).toBe(banned)
    expect(await allOf(acme, project)(request())).toMatchObject({ options: { status: 400 } })
  })

  it('does not let a claimed id replace one that was proven before', async () => {
    const claimed = headerSubject({ header: 'X-Tenant', dimension: 'tenant' })
    expect(await allOf(acme, claimed)(request({ 'x-tenant': 'rival' }))).toEqual(acme())
  })

  it('passes the arguments of the platform to each resolver', async () => {
    const resolve = vi.fn<(request: Request, env: object) => { tenant: string }>(acme)
    const env = {}
    await firstOf<[object]>(allOf<[object]>(resolve))(request(), env)
    expect(resolve.mock.calls[0]?.[1]).toBe(env)
  })
})

const limiterOf = (limit: number, per: string): Limiter =>
  setUp([fixedWindow({ name: `${per}-hourly`, limit, window: '1h', per: [per] })]).limiter

describe('the option unauthenticated', () => {
  it("charges guesses by address until a 429, and no tenant's quota", async () => {
    const tenants = limiterOf(3, 'tenant')
    const addresses = limiterOf(2, 'address')
    const subject = vi.fn<SubjectResolver>(({ headers }) =>
      headers.has('x-tenant') ? { tenant: 'acme' } : null,
    )
    const ask = async (address: string, tenant?: string) => {
      const byCloudflare = { 'cf-connecting-ip': address, 'cf-ray': '8f00000000000000-VIE' }
      const headers = { ...byCloudflare, ...(tenant && { 'x-tenant': tenant }) }
      return (await app(request(headers))).status
    }
    const app = rateLimit(
      tenants,
      {
        routes: ['/**'],
        subject,
        unauthenticated: limitGuesses(addresses, addressSubject({ from: 'cloudflare' })),
      },
      () => new Response(),
    )
    const guesses = []
    for (let time = 0; time < 4; time += 1) guesses.push(await ask('192.0.2.1'))
    expect(guesses).toEqual([401, 401, 429, 429])
    // Another address, and one that is no address at all, are told 401.
    expect(await ask('192.0.2.2')).toBe(401)
    expect(await ask('unknown')).toBe(401)
    // A guess too many finds out nothing, were it a good one; from elsewhere it is as good as ever.
    const lookups = subject.mock.calls.length
    expect(await ask('192.0.2.1', 'acme')).toBe(429)
    expect(subject).toHaveBeenCalledTimes(lookups)
    expect([await ask('192.0.2.3', 'acme'), await ask('192.0.2.3', 'acme')]).toEqual([200, 200])
    const { policies } = await tenants.peek({ tenant: 'acme' })
    expect(policies[0]?.remaining).toBe(1)
  })

  it('does not charge a refusal, which is not a guess', async () => {
    const addresses = limiterOf(1, 'address')
    const app = rateLimit(
      limiterOf(1, 'tenant'),
      {
        routes: ['/**'],
        subject: () => banned,
        unauthenticated: limitGuesses(addresses, () => ({ address: '192.0.2.1' })),
      },
      () => new Response(),
    )
    expect([(await app(request())).status, (await app(request())).status]).toEqual([403, 403])
    expect((await addresses.check({ address: '192.0.2.1' })).allowed).toBe(true)
  })
})
