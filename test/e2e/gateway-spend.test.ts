import { fileURLToPath } from 'node:url'
import { createApiKey } from '@sluice/core/api-keys'
import { usage as readUsage } from '@sluice/usage/report'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { COMMAND, runIn } from '../cli/project.ts'
import { MODELS as NAMED } from '../support/models.ts'
import { PATIENTLY } from '../support/patience.ts'
import {
  ADMIN,
  asAdmin,
  chat,
  clientsOf,
  settingsOf,
  STACKS,
  terminalOf,
  type GatewayStack,
} from './support/gateway.ts'

const folder = fileURLToPath(new URL('../../apps/worker/', import.meta.url))

/** After 15 seconds, an isolate saves what it has counted. */
const LONG = { timeout: 90_000, interval: 500 }

/** Dollars of a call of 10 and 1,000 tokens, at $2 and $10 a million, in micro-dollars. */
const CALL_USD = 10 * 2 + 1_000 * 10
const usage = { prompt_tokens: 10, completion_tokens: 1_000, total_tokens: 1_010 }

interface Spent {
  readonly total: Readonly<Record<string, number>>
  readonly rows: readonly Readonly<Record<string, unknown>>[]
}

describe.each(STACKS)('spend, with %s', (store, start) => {
  let stack: GatewayStack
  beforeAll(async () => {
    stack = await start(ADMIN)
    stack.provider.respond = () => Response.json({ model: NAMED.openai, choices: [], usage })
  })
  afterAll(() => stack[Symbol.asyncDispose]())

  const get = (path: string, headers: Record<string, string> = asAdmin): Promise<Response> =>
    fetch(stack.url + path, { headers })
  const asked = async (query: string): Promise<Spent> =>
    (await (await get(`/admin/usage?${query}`)).json()) as Spent

  /** Makes a key of a team and a user, and calls with it. */
  async function spend(tenant: string, team: string, calls: number) {
    const owner = { tenant, team, user: `${team}-user`, plan: 'growth' }
    const { key, id } = await createApiKey(stack.keys.limiter, owner)
    const { openai } = clientsOf(stack.url, key)
    for (let call = 0; call < calls; call += 1) await openai.chat.completions.create(chat)
    return { key, id }
  }

  /** Waits until the isolate has saved what it has counted. */
  async function saved(tenant: string, calls: number): Promise<void> {
    await expect
      .poll(async () => (await asked(`tenant=${tenant}`)).total, PATIENTLY)
      .toMatchObject({ requests: calls, usd: calls * CALL_USD })
  }

  /** The dollars that another process reads: those that the isolate has saved by itself. */
  async function usdElsewhere(tenant: string): Promise<number> {
    const { rows } = await readUsage(stack.keys.limiter, { tenants: [tenant], by: 'day' })
    return rows.reduce((sum, { usd }) => sum + usd, 0)
  }

  it('is told by organisation, team, user, key, model and day, as JSON and as CSV', async () => {
    const search = await spend('acme', 'search', 2)
    const support = await spend('acme', 'support', 1)
    await expect.poll(() => usdElsewhere('acme'), LONG).toBe(3 * CALL_USD)
    const day: unknown = expect.stringMatching(/^\d{4}-\d\d-\d\d$/)
    const spent = (calls: number) => ({ requests: calls, usd: calls * CALL_USD, denied: 0 })
    for (const [by, names] of [
      ['team', [{ team: 'search' }, { team: 'support' }]],
      ['tenant,user', [{ tenant: 'acme', user: 'search-user' }, { user: 'support-user' }]],
      ['key', [{ key: search.id }, { key: support.id }]],
    ] as const) {
      const { rows } = await asked(`tenant=acme&by=${by}`)
      expect(rows).toMatchObject([
        { ...names[0], ...spent(2) },
        { ...names[1], ...spent(1) },
      ])
    }
    const { rows } = await asked('tenant=acme&by=model,day')
    expect(rows).toMatchObject([{ model: NAMED.openai, day, ...spent(3) }])
    const local = await asked('tenant=acme&by=day&zone=Asia/Kolkata')
    expect(local).toMatchObject({ zone: 'Asia/Kolkata', total: spent(3) })
    const file = await get('/admin/usage?tenant=acme&by=team&format=csv')
    expect(file.headers.get('content-type')).toBe('text/csv; charset=utf-8')
    const lines = (await file.text()).split('\r\n')
    expect(lines[0]).toMatch(/^start,tenant,.*,usd,dollars,.*,team,user,key$/)
    expect(lines.slice(1)).toEqual([
      expect.stringContaining(',0.020040,'),
      expect.stringContaining(',0.010020,'),
      '',
    ])
  })

  it('and limits are told to a key of its own organisation, for one request', async () => {
    const { key, id } = await spend('globex', 'search', 1)
    const own = async () => {
      const answer = await get('/v1/usage', { 'x-api-key': key })
      return (await answer.json()) as {
        spent_today_usd: unknown
        limits: { policy: string; used: number; remaining: number; limit: number }[]
      }
    }
    const first = await own()
    const of = (policy: string) => first.limits.find((limit) => limit.policy === policy)
    expect(first).toMatchObject({ tenant: 'globex', team: 'search', key: id, plan: 'growth' })
    expect(first.spent_today_usd).toEqual({ key: CALL_USD / 1e6, tenant: CALL_USD / 1e6 })
    expect(of('budget.daily')).toMatchObject({ limit: 5, used: CALL_USD / 1e6, per: ['tenant'] })
    expect(of('team')).toMatchObject({ limit: 3, per: ['tenant', 'team'] })
    expect(of('rpm')).toMatchObject({ limit: 60, used: 2, remaining: 58 })
    expect((await own()).limits.find(({ policy }) => policy === 'rpm')?.remaining).toBe(57)
    const statuses: number[] = []
    while (statuses.length < 100 && statuses.at(-1) !== 429) {
      statuses.push((await get('/v1/usage', { 'x-api-key': key })).status)
    }
    expect(statuses.at(-1)).toBe(429)
    expect((await get('/v1/usage', {})).status).toBe(401)
  })

  it('is shown by sluice usage, show and why, and ended by stop', async () => {
    const { key } = await spend('initech', 'search', 2)
    await saved('initech', 2)
    const { store: redis } = stack.keys as Partial<{ store: { url: string; token: string } }>
    const terminal = redis ? settingsOf(redis) : terminalOf(stack)
    const sluice = async (...args: string[]): Promise<string> => {
      const { out, err } = await runIn(folder, process.execPath, [COMMAND, ...args], {
        ...terminal,
        STORE_TIMEOUT_MS: '30000',
      })
      return out + err
    }
    expect(await sluice('usage', '--tenants', 'initech', '--csv')).toContain(
      `,2020,${2 * CALL_USD},0.020040,`,
    )
    const growth = ['--tenant', 'initech', '--plan', 'growth']
    expect(await sluice('show', ...growth)).toMatch(/budget\.daily +\$0\.020040 /)
    expect(await sluice('why', ...growth, '--cost', 'usd=$9')).toContain(NAMED.openai)
    expect(await sluice('stop', 'initech', '--yes')).toContain('rpm')
    const denied = () => get('/v1/usage', { 'x-api-key': key })
    await expect.poll(async () => (await denied()).status, PATIENTLY).toBe(429)
  })

  it.skipIf(store !== 'Durable Objects')('is for the operator alone', async () => {
    for (const path of ['/admin/usage', '/admin/spend/view', '/admin/spend/limits?tenant=acme']) {
      for (const authorization of ['', 'Bearer ', 'Bearer wrong', `Basic ${ADMIN.ADMIN_KEY}`]) {
        const answer = await get(path, { authorization })
        expect([answer.status, await answer.json()]).toEqual([
          401,
          expect.objectContaining({
            error: expect.objectContaining({ code: 'invalid_admin_key' }),
          }),
        ])
      }
      expect((await fetch(stack.url + path, { method: 'POST', headers: asAdmin })).status).toBe(405)
    }
    const page = await get('/admin/spend', {})
    expect(page.headers.get('set-cookie')).toBeNull()
    expect(page.headers.get('content-security-policy')).toContain("connect-src 'self'")
  })

  it.skipIf(store !== 'Durable Objects').each([
    ['from=yesterday', 'from and to must be days (UTC), such as 2026-11-01.'],
    ['from=2026-02-30', 'from and to must be days (UTC), such as 2026-11-01.'],
    ['from=2026-01-01&to=2026-02-01', 'from must be before to, by at most 31 days.'],
    ['from=2026-01-02&to=2026-01-01', 'from must be before to, by at most 31 days.'],
    [
      'by=tenant,run',
      'by has "run", and may have tenant, team, user, key, model, plan, day, hour.',
    ],
    ['format=xml', 'format must be json or csv.'],
    ['form=csv', 'There is no parameter "form"; there are from, to, zone, by, tenant, format.'],
  ])('is not told for %s, and the message says why', async (query, message) => {
    for (const path of ['/admin/usage', '/admin/spend/view']) {
      const answer = await get(`${path}?${query}`)
      expect([answer.status, await answer.json()]).toMatchObject([400, { error: { message } }])
    }
  })

  it.skipIf(store !== 'Durable Objects')(
    'names that look like markup are text on the page',
    async () => {
      const name = '<img src=x onerror=alert(1)>"&amp;'
      await spend(name, name, 1)
      await saved(encodeURIComponent(name), 1)
      const query = new URLSearchParams({ tenant: name, by: 'tenant,team' })
      const markup = await (await get(`/admin/spend/view?${query}`)).text()
      const limits = await (await get(`/admin/spend/limits?${query}`)).text()
      for (const text of [markup, limits]) {
        expect(text).not.toContain('<img')
        expect(text).toContain('&lt;img src=x onerror=alert(1)&gt;&quot;&amp;amp;')
      }
    },
  )
})
