/* Administration of the gateway over HTTP, on each store. */
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { startAdministered, type Administered, type Told } from './support/admin.ts'

/** An isolate relies on a look-up and on settings for five seconds. */
const PATIENTLY = { timeout: 30_000, interval: 500 }

describe.each(['objects', 'redis'] as const)('administration over %s', (store) => {
  let gateway: Administered
  beforeAll(async () => {
    gateway = await startAdministered(store)
  })
  afterAll(() => gateway[Symbol.asyncDispose]())
  beforeEach(() => gateway.refill())

  /** Sends a request that succeeds. */
  async function done(...request: Parameters<Administered['send']>): Promise<Told['json']> {
    const { status, json } = await gateway.send(...request)
    expect({ status, json }).toEqual({ status: expect.toBeOneOf([200, 201]), json })
    return json
  }
  const accepts = async (key: string): Promise<number> =>
    (await gateway.send('/v1/models', { key })).status

  it('makes, lists, plans, replaces and ends keys', async () => {
    const body = { tenant: 'acme', team: 'search', plan: 'starter', expires: '90d' }
    const { key, id, ...made } = await done('/admin/keys', { method: 'POST', body })
    expect(made).toMatchObject({ subject: { tenant: 'acme', team: 'search', plan: 'starter' } })
    expect(await accepts(String(key))).toBe(200)
    const { keys } = await done('/admin/keys?tenant=acme')
    expect((keys as { id: string }[]).map((one) => one.id)).toContain(id)
    const path = `/admin/keys/${String(id)}`
    expect(await done(path, { method: 'PATCH', body: { plan: 'growth' } })).toMatchObject({
      key: { id, subject: { plan: 'growth' } },
    })
    const next = await done(`${path}/rotate`, { method: 'POST', body: { overlap: '0' } })
    expect(next).toMatchObject({ old: { id }, subject: { team: 'search', plan: 'growth' } })
    expect(await accepts(String(next['key']))).toBe(200)
    const nextPath = `/admin/keys/${String(next['id'])}`
    await done(nextPath, { method: 'PATCH', body: { in: '1h' } })
    await done(nextPath, { method: 'DELETE' })
    await vi.waitFor(async () => {
      expect(await accepts(String(key))).toBe(401)
      expect(await accepts(String(next['key']))).toBe(401)
    }, PATIENTLY)
    expect((await gateway.send(nextPath)).status).toBe(404)
  })

  it('sets, raises and removes limits of an organisation and its teams', async () => {
    const limits = '/admin/limits/acme'
    const limitOf = async (path: string, name: string): Promise<unknown> => {
      const { policies } = await done(path)
      return (policies as { name: string; limit: unknown }[]).find((one) => one.name === name)
        ?.limit
    }
    expect(await done(limits)).toMatchObject({ subject: { tenant: 'acme' }, plan: 'growth' })
    await done(limits, { method: 'PUT', body: { policy: 'rpm', limit: 7, note: 'a pilot' } })
    await done(`${limits}?team=search`, { method: 'PUT', body: { policy: 'team', limit: '$0.50' } })
    await vi.waitFor(async () => {
      expect(await limitOf(`${limits}?team=search`, 'rpm')).toBe(7)
      expect(await limitOf(`${limits}?team=search`, 'team')).toBe(500_000)
    }, PATIENTLY)
    const raise = { policy: 'rpm', limit: 9, until: '1h' }
    await done(`${limits}/raise`, { method: 'POST', body: raise })
    const { settings } = await done(limits)
    expect(settings).toMatchObject([
      { policy: 'rpm', settings: { limit: 7 }, temporary: { settings: { limit: 9 } } },
    ])
    await done(`${limits}?policy=rpm`, { method: 'DELETE' })
    await done(`${limits}?team=search&policy=team`, { method: 'DELETE' })
    expect((await done(`${limits}?team=search`))['settings']).toEqual([])
  })

  it('stops an organisation, and starts it again', async () => {
    const call = (): Promise<number> => gatewayCall(gateway)
    expect(await call()).toBe(200)
    await done('/admin/limits/acme/stop', { method: 'POST', body: { note: 'a loop' } })
    await vi.waitFor(async () => expect(await call()).toBe(429), PATIENTLY)
    const set = { method: 'PUT', body: { policy: 'rpm', limit: 5 } }
    const refused = await gateway.send('/admin/limits/acme', set)
    expect(refused).toMatchObject({
      status: 409,
      json: {
        error: {
          message:
            'nothing is changed: acme is stopped by admin (a loop): POST /admin/limits/acme/start ends it.',
        },
      },
    })
    expect(await done('/admin/limits/acme/start', { method: 'POST' })).toMatchObject({ made: true })
    await vi.waitFor(async () => expect(await call()).toBe(200), PATIENTLY)
  })

  it('gives back what is used, of an organisation or of a key alone', async () => {
    await gatewayCall(gateway)
    const { id } = gateway.keys.acme
    const usedOf = async (name: string): Promise<number> => {
      const { policies } = await done(`/admin/limits/acme?key=${id}`)
      type State = { name: string; burst: number; remaining: number }
      const state = (policies as State[]).find((one) => one.name === name)
      return (state?.burst ?? 0) - (state?.remaining ?? 0)
    }
    const daily = await usedOf('budget.daily')
    expect(Math.min(daily, await usedOf('key'))).toBeGreaterThan(0)
    await done(`/admin/limits/acme/reset?key=${id}`, { method: 'POST' })
    expect([await usedOf('key'), await usedOf('budget.daily')]).toEqual([0, daily])
    const body = { policies: ['budget.daily', 'budget.monthly'] }
    await done('/admin/limits/acme/reset', { method: 'POST', body })
    expect(await usedOf('budget.daily')).toBe(0)
  })

  it('changes the plan of an organisation: of each key, and of those that its operators make', async () => {
    const plan = { method: 'PUT', body: { plan: 'enterprise' } }
    const { keys } = await done('/admin/limits/globex/plan', plan)
    const { globex, globexOperator } = gateway.keys
    expect((keys as string[]).toSorted()).toEqual([globex.id, globexOperator.id].toSorted())
    expect(await done('/admin/limits/globex')).toMatchObject({ plan: 'enterprise' })
    const made = { method: 'POST', key: globexOperator.key, body: { user: 'u_1' } }
    expect(await done('/admin/keys', made)).toMatchObject({ subject: { plan: 'enterprise' } })
    const other = { method: 'PUT', body: { plan: 'constructor' } }
    expect((await gateway.send('/admin/limits/globex/plan', other)).status).toBe(400)
  })

  it('does nothing twice for one Idempotency-Key, and shows a key once', async () => {
    const headers = { 'idempotency-key': 'req-1' }
    const request = { method: 'POST', headers, body: { tenant: 'acme', plan: 'growth' } }
    const answers = await Promise.all([1, 2, 3].map(() => gateway.send('/admin/keys', request)))
    answers.push(await gateway.send('/admin/keys', request))
    const first = answers.filter(({ status, json }) => status === 201 && json['key'] !== null)
    expect(first).toHaveLength(1)
    const { key, ...rest } = first[0]?.json ?? {}
    // While the first one runs, nobody knows its end.
    const others = answers.filter((one) => one !== first[0] && one.status !== 409)
    expect(others.map(({ status, json }) => [status, json])).toEqual(
      others.map(() => [201, { ...rest, key: null }]),
    )
    expect(answers.at(-1)?.headers.get('idempotent-replayed')).toBe('true')
    const { keys } = await done('/admin/keys?tenant=acme')
    expect((keys as { id: string }[]).filter(({ id }) => id === rest['id'])).toHaveLength(1)
    expect(JSON.stringify(keys)).not.toContain(key)
    const other = { ...request, body: { tenant: 'acme' } }
    expect(await gateway.send('/admin/keys', other)).toMatchObject({
      status: 422,
      json: { error: { code: 'idempotency_mismatch' } },
    })
    // The name belongs to its operator.
    const own = { ...request, key: gateway.keys.acmeOperator.key }
    expect((await gateway.send('/admin/keys', own)).json['key']).not.toBeNull()
  })

  it('lets an operator of one organisation manage it, but no key with a role', async () => {
    const { key } = gateway.keys.acmeOperator
    const { id } = await done('/admin/keys', { key, method: 'POST', body: { user: 'u_17' } })
    const { keys } = await done('/admin/keys', { key })
    expect((keys as { id: string }[]).map((one) => one.id)).toContain(id)
    expect(JSON.stringify(keys)).not.toContain(gateway.keys.acmeOperator.id)
    const role = { key, method: 'POST', body: { role: 'operator' } }
    expect((await gateway.send('/admin/keys', role)).status).toBe(403)
    expect(await accepts(key)).toBe(403)
  })

  it('counts each operator to 60 requests a minute', async () => {
    const { key, id } = gateway.keys.globexOperator
    const status = async () => (await gateway.send('/admin/openapi.json', { key })).status
    await gateway.count('globex', id, 59)
    expect([await status(), await status()]).toEqual([200, 429])
    expect((await gateway.send('/admin/openapi.json')).status).toBe(200)
  })

  it('logs who did what, and no secret', async () => {
    const id = crypto.randomUUID()
    const sent = { method: 'POST', body: { plan: 'growth' }, headers: { 'x-request-id': id } }
    const { key } = gateway.keys.acmeOperator
    const made = await done('/admin/keys', { ...sent, key })
    const lines = gateway.app.logs.filter((line) => line.includes('"operator"'))
    const own = lines.map((line) => JSON.parse(line) as { request: string })
    expect(own.find(({ request }) => request === id)).toMatchObject({
      operator: gateway.keys.acmeOperator.id,
      action: 'createKey',
      tenant: 'acme',
      status: 201,
      outcome: 'done',
    })
    const log = gateway.app.logs.join('\n')
    for (const secret of [key, String(made['key']), 'the-admin-key']) {
      expect(log).not.toContain(secret)
    }
  })
})

/** Calls a model with the key of acme. Returns the status. */
async function gatewayCall({ send, keys }: Administered): Promise<number> {
  const body = { model: 'gpt-6-luna', messages: [{ role: 'user', content: 'Hello' }] }
  const { key } = keys.acme
  return (await send('/v1/chat/completions', { method: 'POST', key, body })).status
}
