import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  createLimiter,
  dailyCap,
  listen,
  manualClock,
  monthlyCap,
  type Limiter,
} from '@sluice/core'
import { calendar } from '@sluice/core/calendars'
import { firstOf } from '@sluice/core/identity'
import { jwtSubject } from '@sluice/core/jwt'
import { memory } from '@sluice/core/memory'
import { SignJWT } from 'jose'
import { expect, it, vi } from 'vitest'
import { importBlock, patient, readBlock } from '../support/docs-block.ts'
import { pageFolder } from '../support/page-folder.ts'
import { freshPrefix } from '../support/stores.ts'

const SECRET = 'a secret of thirty-two characters'

async function requestWith(claims: Readonly<Record<string, unknown>>): Promise<Request> {
  const token = await new SignJWT(claims)
    .setProtectedHeader({ alg: 'HS256' })
    .setExpirationTime('1h')
    .sign(new TextEncoder().encode(SECRET))
  return new Request('https://api.example', { headers: { authorization: `Bearer ${token}` } })
}

it('the limits of the page end at the midnight and on the billing day of the token', async () => {
  const folder = await pageFolder('calendars')
  vi.stubEnv('JWT_SECRET', SECRET)
  const limits = patient(readBlock('calendars.md', 'limits.ts'), freshPrefix())
  writeFileSync(join(folder, 'limits.ts'), limits)
  const { limiter } = (await import(join(folder, 'limits.ts'))) as { limiter: Limiter }
  const { subject } = await importBlock<{
    subject: (request: Request) => Promise<Record<string, string> | null>
  }>(folder, 'calendars.md', 'subject.ts')

  const claims = { org_id: 'acme', zoneinfo: 'Asia/Kathmandu', subscribed_at: '2026-01-31T06' }
  const request = await requestWith(claims)
  const { policies } = await limiter.peek((await subject(request)) ?? {}, { cost: { usd: 0 } })
  const ends = Object.fromEntries(policies.map(({ name, resetsAt }) => [name, resetsAt]))
  expect(ends['budget.monthly']).toMatch(/-(?:28|29|30|31)T06:00:00\+05:45\[Asia\/Kathmandu\]$/)
  expect(ends['daily']).toMatch(/T06:00:00\+05:45\[Asia\/Kathmandu\]$/)
  expect(ends['weekly']).toMatch(/T00:00:00-0[45]:00\[America\/New_York\]$/)
  const friday = new Date(`${ends['weekly']?.slice(0, 10)}T12:00Z`)
  expect(friday.getUTCDay()).toBe(5)

  const seconds = Date.parse('2026-01-31T06:30+05:45') / 1_000
  expect(await subject(await requestWith({ ...claims, subscribed_at: seconds }))).toBeNull()
  expect(await subject(await requestWith({ org_id: 'acme' }))).toBeNull()
  const start = new Date(seconds * 1_000).toISOString()
  const later = await subject(await requestWith({ ...claims, org_id: 'b', subscribed_at: start }))
  const { policies: same } = await limiter.peek(later ?? {}, { cost: { usd: 0 } })
  expect(Object.fromEntries(same.map(({ name, resetsAt }) => [name, resetsAt]))).toEqual(ends)

  const plain = jwtSubject({ secret: SECRET, algorithms: ['HS256'], claims: { tenant: 'org_id' } })
  const both = firstOf(subject, plain)
  expect(await both(await requestWith({ org_id: 'c' }))).toEqual({ tenant: 'c' })
})

const leftAfter = async (limiter: Limiter): Promise<number | undefined> =>
  (await limiter.check({ tenant: 'acme' })).policies[0]?.remaining

it('code with and without resets counts together, also over the end of a period', async () => {
  const clock = manualClock(Date.UTC(2026, 10, 29, 12))
  const store = memory()
  const cap = { name: 'daily', limit: 10, per: ['tenant'] }
  const resets = calendar({ zone: 'Europe/Berlin' })
  const before = createLimiter({ store, clock, policies: [dailyCap(cap)] })
  const after = createLimiter({ store, clock, policies: [dailyCap({ ...cap, resets })] })

  expect([await leftAfter(before), await leftAfter(after), await leftAfter(before)]).toEqual([
    9, 8, 7,
  ])
  clock.advance(12 * 3_600_000)
  expect([await leftAfter(after), await leftAfter(before), await leftAfter(after)]).toEqual([
    9, 8, 7,
  ])
})

it.each([
  ['charged', 1, 32],
  ['only denied', 10, 8],
])(
  'a tenant that the new code has %s in the period before gets a first period of its own length',
  async (_, spent, hours) => {
    const clock = manualClock(Date.UTC(2026, 10, 29, 12))
    const store = memory()
    const cap = { name: 'daily', limit: 10, per: ['tenant'] }
    const resets = calendar({ zone: 'America/Los_Angeles' })
    const before = createLimiter({ store, clock, policies: [dailyCap(cap)] })
    const after = createLimiter({ store, clock, policies: [dailyCap({ ...cap, resets })] })
    await before.check({ tenant: 'acme' }, { cost: spent })
    await after.check({ tenant: 'acme' })
    clock.advance(12 * 3_600_000)
    const { policies } = await after.check({ tenant: 'acme' })
    expect(policies[0]?.resetMs).toBe(hours * 3_600_000)
  },
)

it('the call that begins a period decides its end, and without an anchor no problem is reported', async () => {
  const clock = manualClock(Date.UTC(2026, 10, 20))
  const problems: string[] = []
  const resets = calendar({ anchor: ({ anchor }) => anchor })
  const limiter = createLimiter({
    store: memory(),
    clock,
    policies: [monthlyCap({ name: 'monthly', limit: 10, per: ['tenant'], resets })],
    extensions: [listen({ problem: ({ code }) => void problems.push(code) })],
  })
  const endOf = async (claims: object) =>
    (await limiter.check({ tenant: 'acme', ...claims })).policies[0]?.resetsAt?.slice(0, 10)

  const anchored = { anchor: '2026-01-15' }
  expect([await endOf(anchored), await endOf({})]).toEqual(['2026-12-15', '2026-12-15'])
  clock.set(Date.UTC(2026, 11, 15))
  expect([await endOf({}), await endOf(anchored)]).toEqual(['2027-02-01', '2027-02-01'])
  expect(problems).toEqual([])
  await endOf({ tenant: 'globex', anchor: 'the 15th' })
  expect(problems).toEqual(['calendar_unknown'])
})
