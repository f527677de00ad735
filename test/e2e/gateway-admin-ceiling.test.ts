/* The ceiling of an operator of one organisation: no way leads round what its owner has set. */
import { budget, usd } from '@sluice/ai'
import { createLimiter, type Limiter } from '@sluice/core'
import { readApiKey } from '@sluice/core/api-keys'
import { runtimeOf } from '@sluice/core/internal/limiter'
import { reserve } from '@sluice/core/reservations'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { startAdministered, type Administered, type Sent } from './support/admin.ts'

let gateway: Administered
/** Reads what acme has spent. Without the settings that the gateway's limiter has a copy of: they change what is left. */
let spent: Limiter
beforeAll(async () => {
  gateway = await startAdministered()
  spent = createLimiter({
    store: runtimeOf(gateway.limiter).store,
    policies: [budget({ name: 'budget', monthly: usd(100), per: ['tenant'] })],
  })
  const cost = { usd: 1_000, token: 1 }
  const call = await reserve(gateway.limiter, caller(), { cost, settleWithin: '1m' })
  if (call.allowed) await call.settle(cost)
})
afterAll(() => gateway[Symbol.asyncDispose]())
beforeEach(() => gateway.refill())

const LIMITS = '/admin/limits/acme'
const put = (body: object): Sent => ({ method: 'PUT', body })
const post = (body?: object): Sent => ({ method: 'POST', ...(body && { body }) })

/** Sends a request of the owner, which succeeds. */
async function own(path: string, sent: Sent): Promise<void> {
  const { status, text } = await gateway.send(path, sent)
  expect([status, text]).toEqual([expect.toBeOneOf([200, 201]), text])
}

const asOperator = (path: string, sent: Sent) =>
  gateway.send(path, { ...sent, key: gateway.keys.acmeOperator.key })

/** A caller of acme with every part. */
const caller = () => {
  const parts = { team: 'search', user: 'u_1', key: gateway.keys.acme.id, run: undefined }
  return { tenant: 'acme', ...parts, plan: 'growth' }
}

/** All keys and settings, and the dollars that acme has spent this month. */
async function stateOf() {
  const { policies } = await spent.peek({ tenant: 'acme' }, { cost: { usd: 0 } })
  const left = policies.find(({ name }) => name === 'budget.monthly')?.remaining
  expect(left).toBeLessThan(usd(100))
  return { ...((await gateway.state()) as object), left }
}

type Way = readonly [
  name: string,
  path: string | ((keys: Administered['keys']) => string),
  sent: Sent,
  code?: 'not_found',
]

/** Tests that each way is refused, and changes nothing. */
const refuses = (ways: readonly Way[]): void =>
  it.each(ways.map((way) => [way[0], way] as const))('%s', async (_, way) => {
    const [, of, sent, code = 'admin_only'] = way
    const before = await stateOf()
    const path = typeof of === 'function' ? of(gateway.keys) : of
    const { status, json } = await asOperator(path, sent)
    const [refusal, says] = code === 'not_found' ? [404, 'nothing here'] : [403, 'ADMIN_KEY']
    const message = expect.stringContaining(says) as string
    expect([status, json]).toMatchObject([refusal, { error: { code, message } }])
    expect(await stateOf()).toEqual(before)
  })

const UNLIMITED = { policy: 'budget.daily', limit: 'unlimited' }
const POLICIES = ['budget.monthly']
const OF_KEY = { policy: 'key', limit: 'unlimited' }

describe('an operator of one organisation does not', () => {
  refuses([
    ['lift its budget', LIMITS, put(UNLIMITED)],
    ['set its rate', LIMITS, put({ policy: 'rpm', limit: 1_000 })],
    ['set its tokens', LIMITS, put({ policy: 'tpm', limit: 'unlimited' })],
    ['set its month', LIMITS, put({ policy: 'budget.monthly', limit: '$9000' })],
    ['lift its budget for a time', LIMITS, put({ ...UNLIMITED, until: 'window' })],
    ['raise its budget', `${LIMITS}/raise`, post({ ...UNLIMITED, until: '1h' })],
    ['give back its use', `${LIMITS}/reset`, post()],
    ['give back its use by an empty body', `${LIMITS}/reset`, post({})],
    ['give back the use of a policy', `${LIMITS}/reset`, post({ policies: POLICIES })],
    ['give back the use of no policy', `${LIMITS}/reset`, post({ policies: [] })],
    [
      'give back its use through a team',
      `${LIMITS}/reset?team=search`,
      post({ policies: POLICIES }),
    ],
    [
      'give back its use beside that of a key',
      ({ acme }) => `${LIMITS}/reset?key=${acme.id}`,
      post({ policies: ['key', ...POLICIES], settings: true }),
    ],
    ['give back its calls in flight', `${LIMITS}/reset?user=u`, post({ policies: ['in-flight'] })],
    ['change its plan', `${LIMITS}/plan`, put({ plan: 'enterprise' })],
    [
      'change the plan of a key',
      ({ acme }) => `/admin/keys/${acme.id}`,
      { method: 'PATCH', body: { plan: 'enterprise' } },
    ],
    [
      'change the plan of its own key',
      ({ acmeOperator }) => `/admin/keys/${acmeOperator.id}`,
      { method: 'PATCH', body: { plan: 'enterprise' } },
    ],
    ['make a key of a higher plan', '/admin/keys', post({ plan: 'enterprise' })],
    ['make a key of a lower plan', '/admin/keys', post({ tenant: 'acme', plan: 'starter' })],
    ['make an operator', '/admin/keys', post({ role: 'operator', plan: 'growth' })],
    [
      'limit the key of another',
      ({ globex }) => `${LIMITS}?key=${globex.id}`,
      put(OF_KEY),
      'not_found',
    ],
    [
      'stop the key of another',
      ({ globex }) => `${LIMITS}/stop?key=${globex.id}`,
      post(),
      'not_found',
    ],
    [
      'reset the key of an operator',
      ({ globexOperator }) => `${LIMITS}/reset?key=${globexOperator.id}`,
      post(),
      'not_found',
    ],
  ])
})

describe('what the owner has set stays', () => {
  const rpm = { ...put({ policy: 'rpm', limit: 7 }), headers: { 'idempotency-key': 'owner-1' } }
  beforeAll(() => own(LIMITS, rpm))
  afterAll(() => own(`${LIMITS}?policy=rpm`, { method: 'DELETE' }))

  refuses([
    ['removed as a limit', `${LIMITS}?policy=rpm`, { method: 'DELETE' }],
    ['set to that of the plan', LIMITS, put({ policy: 'rpm', limit: null })],
    ['removed by a reset', `${LIMITS}/reset`, post({ settings: true })],
    [
      'removed by a reset through a team',
      `${LIMITS}/reset?team=search`,
      post({ policies: ['rpm'], settings: true }),
    ],
    ['asked again by the name of the owner’s request', LIMITS, rpm],
    ['asked otherwise by that name', LIMITS, { ...rpm, body: UNLIMITED }],
  ])
})

describe('a stop of the owner stays', () => {
  beforeAll(() => own(`${LIMITS}/stop`, post({ note: 'unpaid' })))
  afterAll(() => own(`${LIMITS}/start`, post()))

  refuses([
    ['started', `${LIMITS}/start`, post()],
    ['started by an empty body', `${LIMITS}/start`, post({})],
    ['replaced by a limit for a time', LIMITS, put({ ...UNLIMITED, until: '1h' })],
    ['replaced by a raise', `${LIMITS}/raise`, post({ ...UNLIMITED, until: '1h' })],
    ['removed by a reset', `${LIMITS}/reset`, post({ settings: true })],
    ['replaced by a stop that ends sooner', `${LIMITS}/stop`, post({ until: '1s' })],
  ])
})

describe('a limit that the owner has set until a time', () => {
  beforeAll(() => own(LIMITS, put({ policy: 'budget.daily', limit: '$0.10', until: '8783h' })))
  afterAll(() => own(`${LIMITS}?policy=budget.daily`, { method: 'DELETE' }))

  refuses([['is not ended by a stop', `${LIMITS}/stop`, post({ until: '1s' })]])

  it('is over when a stop without an end is', async () => {
    const endOf = async (): Promise<number> => {
      const { json } = await gateway.send(LIMITS, {})
      type Entry = { policy: string; subject?: object; temporary?: { until: number } }
      const entry = (json['settings'] as Entry[]).find(({ policy }) => policy === 'budget.daily')
      return entry?.temporary?.until ?? 0
    }
    const end = await endOf()
    expect((await asOperator(`${LIMITS}/stop`, post())).status).toBe(200)
    expect(await endOf()).toBe(end)
    expect((await asOperator(`${LIMITS}/start`, post())).status).toBe(403)
    await own(`${LIMITS}/start`, post())
    expect(await endOf()).toBe(end)
  })
})

describe('below its ceiling, an operator', () => {
  it('sets, raises, resets, stops and starts parts, of which none is above its organisation', async () => {
    const { acme } = gateway.keys
    for (const [name, value] of [
      ['team', 'search'],
      ['user', 'u_1'],
      ['key', acme.id],
    ]) {
      const part = `?${name}=${value}`
      const limit = { policy: name, limit: '$90' }
      const done: readonly (readonly [string, Sent])[] = [
        [LIMITS + part, put(limit)],
        [`${LIMITS}/raise${part}`, post({ ...limit, until: '1h' })],
        [`${LIMITS}/stop${part}`, post()],
        [`${LIMITS}/start${part}`, post()],
        [`${LIMITS}/reset${part}`, post()],
        [`${LIMITS}/reset${part}`, post({ policies: [name], settings: true })],
        [LIMITS + part, put({ ...limit, limit: 'unlimited' })],
      ]
      for (const [path, sent] of done)
        expect([path, (await asOperator(path, sent)).status]).toEqual([path, 200])
    }
    expect((await asOperator(LIMITS, put(UNLIMITED))).status).toBe(403)
    await own(LIMITS, put({ policy: 'budget.daily', limit: '$0.00' }))
    const body = { model: 'gpt-6-luna', messages: [{ role: 'user', content: 'Hello' }] }
    await expect
      .poll(
        async () => {
          const call = { method: 'POST', key: acme.key, body }
          return (await gateway.send('/v1/chat/completions', call)).status
        },
        { timeout: 30_000, interval: 500 },
      )
      .toBe(429)
    await own(`${LIMITS}?policy=budget.daily`, { method: 'DELETE' })
  })

  it('makes and replaces keys of the plan that the owner has just set', async () => {
    const planOf = async (path: string, body: object): Promise<unknown> => {
      const { json } = await asOperator(path, post(body))
      return (await readApiKey(gateway.limiter, String(json['id'])))?.subject['plan']
    }
    const rotate = `/admin/keys/${gateway.keys.acme.id}/rotate`
    expect(await planOf('/admin/keys', { user: 'u_2' })).toBe('growth')
    expect(await planOf('/admin/keys', { user: 'u_2', plan: 'growth' })).toBe('growth')
    await own(`${LIMITS}/plan`, put({ plan: 'starter' }))
    expect(await planOf('/admin/keys', { user: 'u_3' })).toBe('starter')
    expect(await planOf(rotate, { overlap: '1h' })).toBe('starter')
    expect((await asOperator('/admin/keys', post({ plan: 'growth' }))).status).toBe(403)
  })
})
