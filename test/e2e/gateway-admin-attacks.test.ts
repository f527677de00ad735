/* Attacks on the addresses of operators: nothing is read, and nothing is changed. */
import { createHash } from 'node:crypto'
import { createApiKey } from '@sluice/core/api-keys'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { startGateway } from './support/gateway.ts'
import { ADMIN_KEY, startAdministered, type Administered, type Sent } from './support/admin.ts'

let gateway: Administered
let ended = ''
beforeAll(async () => {
  gateway = await startAdministered()
  const operator = { tenant: 'globex', role: 'operator' }
  ended = (await createApiKey(gateway.limiter, operator, { expiresIn: '1ms' })).key
})
afterAll(() => gateway[Symbol.asyncDispose]())
beforeEach(() => gateway.refill())

type Keys = Administered['keys']
type Attack = readonly [
  name: string,
  status: number,
  path: string | ((keys: Keys) => string),
  sent?: Sent | ((keys: Keys) => Sent),
]

const RAISE = { policy: 'rpm', limit: 'unlimited' }
const MAKE = { method: 'POST', body: { tenant: 'globex', plan: 'enterprise' } }
const PUT = { method: 'PUT', body: RAISE }
const NOBODY = 'key_0123456789abcdef'

/** Attacks with the key of acme's operator on globex. */
const OF_ANOTHER: readonly Attack[] = [
  ['lists its keys', 404, '/admin/keys?tenant=globex'],
  ['lists its keys by a name in other letters', 404, '/admin/keys?tenant=GLOBEX'],
  ['lists all keys by an empty name', 400, '/admin/keys?tenant='],
  ['lists the keys of two', 400, '/admin/keys?tenant=acme&tenant=globex'],
  ['lists by a pattern', 404, '/admin/keys?tenant=*'],
  ['names it after a control character', 404, '/admin/keys?tenant=acme%00globex'],
  ['names it in the syntax of a partition', 404, '/admin/keys?tenant=acme%3Atenant%3Dglobex'],
  ['reads its key', 404, ({ globex }) => `/admin/keys/${globex.id}`],
  [
    'reads the key of its operator',
    404,
    ({ globexOperator }) => `/admin/keys/${globexOperator.id}`,
  ],
  ['reads the own key', 404, ({ acmeOperator }) => `/admin/keys/${acmeOperator.id}`],
  ['rotates its key', 404, ({ globex }) => `/admin/keys/${globex.id}/rotate`, { method: 'POST' }],
  ['revokes its key', 404, ({ globex }) => `/admin/keys/${globex.id}`, { method: 'DELETE' }],
  [
    'ends its key',
    404,
    ({ globex }) => `/admin/keys/${globex.id}`,
    { method: 'PATCH', body: { in: '0' } },
  ],
  ['makes a key for it', 404, '/admin/keys', MAKE],
  ['makes an operator', 403, '/admin/keys', { method: 'POST', body: { role: 'operator' } }],
  ['sets its limit', 404, '/admin/limits/globex', PUT],
  ['reads its limits by an encoded name', 404, '/admin/limits/%67lobex'],
  ['climbs up to it', 404, '/admin/limits/acme/../globex'],
  ['climbs up to it, encoded', 404, '/admin/limits/acme/%2e%2e/globex'],
  ['climbs up to it behind an encoded slash', 404, '/admin/limits/acme%2F..%2Fglobex'],
  ['stops it', 404, '/admin/limits/globex/stop', { method: 'POST' }],
  ['sets its limit through its own address', 400, '/admin/limits/acme?tenant=globex', PUT],
  ['names an empty team of its own', 400, '/admin/limits/acme?team=', PUT],
  ['names an empty key of its own', 400, '/admin/limits/acme/reset?key=', { method: 'POST' }],
  ['names a limit of all as one of a team', 400, '/admin/limits/acme?team=search', PUT],
  [
    'replaces a key of its own by one of another plan',
    400,
    ({ acme }) => `/admin/keys/${acme.id}/rotate`,
    { method: 'POST', body: { plan: 'enterprise' } },
  ],
  [
    'names it in the body, too',
    400,
    '/admin/limits/acme',
    { ...PUT, body: { ...RAISE, tenant: 'globex' } },
  ],
  [
    'names it in a header',
    404,
    '/admin/limits/globex',
    { headers: { 'x-tenant': 'acme', 'x-original-url': '/admin/limits/acme' } },
  ],
]

/** Attacks without a key of an operator, or with a wrong one. */
const STRANGERS: readonly Attack[] = [
  ['no key', 401, '/admin/keys?tenant=globex', { key: '' }],
  ['the key of a tenant', 401, '/admin/keys?tenant=acme', ({ acme }) => ({ key: acme.key })],
  ['an operator’s key that has expired', 401, '/admin/keys', () => ({ key: ended })],
  ['the name of a key', 401, '/admin/keys', ({ acmeOperator }) => ({ key: acmeOperator.id })],
  [
    'the hash of a key',
    401,
    '/admin/keys',
    ({ acmeOperator }) => ({ key: createHash('sha256').update(acmeOperator.key).digest('hex') }),
  ],
  ['the beginning of the admin key', 401, '/admin/keys', { key: ADMIN_KEY.slice(0, -1) }],
  ['the admin key and more', 401, '/admin/keys', { key: `${ADMIN_KEY}0` }],
  ['the admin key in other letters', 401, '/admin/keys', { key: ADMIN_KEY.toUpperCase() }],
  ['a huge key', 401, '/admin/keys', { key: 'x'.repeat(10_000) }],
  ['__proto__ as the key', 401, '/admin/keys', { key: '__proto__' }],
  [
    'the admin key in x-api-key',
    401,
    '/admin/keys',
    { key: '', headers: { 'x-api-key': ADMIN_KEY } },
  ],
  [
    'the admin key in a cookie',
    401,
    '/admin/keys',
    { key: '', headers: { cookie: `authorization=${ADMIN_KEY}` } },
  ],
  [
    'the admin key as a password',
    401,
    '/admin/keys',
    { key: '', headers: { authorization: `Basic ${btoa(`admin:${ADMIN_KEY}`)}` } },
  ],
  ['the admin key in the query', 401, `/admin/keys?key=${ADMIN_KEY}`, { key: '' }],
  [
    'two keys in one header',
    401,
    '/admin/keys',
    { key: '', headers: { authorization: `Bearer x, Bearer ${ADMIN_KEY}` } },
  ],
  [
    'a question before a call of another origin',
    401,
    '/admin/keys',
    { method: 'OPTIONS', key: '' },
  ],
  ['an address that is none', 401, '/admin/none', { key: '' }],
  ['a change without a key', 401, '/admin/keys', { ...MAKE, key: '' }],
]

/** Malformed requests with the admin key. */
const MALFORMED: readonly Attack[] = [
  ['a double slash', 404, '/admin//keys?tenant=globex'],
  ['a double slash in front', 404, '//admin/keys?tenant=globex'],
  ['a slash at the end', 404, '/admin/keys/'],
  ['other letters', 404, '/ADMIN/keys?tenant=globex'],
  ['an encoded slash', 404, '/admin%2Fkeys?tenant=globex'],
  ['an encoded letter of the address', 404, '/admin/%6beys?tenant=globex'],
  ['a suffix', 404, '/admin/keys.json'],
  ['a parameter of the path', 404, '/admin/keys;a=1'],
  ['an escape that is none', 404, '/admin/limits/%zz'],
  ['bytes that are no text', 404, '/admin/limits/%ff%fe'],
  ['an empty organisation', 404, '/admin/limits//stop', { method: 'POST' }],
  ['a huge organisation', 404, `/admin/limits/${'x'.repeat(3_000)}`],
  ['a huge name of a key', 404, `/admin/keys/key_${'0'.repeat(3_000)}`],
  ['a key named __proto__', 404, '/admin/keys/__proto__'],
  ['a key named constructor', 404, '/admin/keys/constructor', { method: 'DELETE' }],
  ['another method', 405, '/admin/keys', { method: 'DELETE' }],
  ['HEAD', 405, '/admin/keys', { method: 'HEAD' }],
  ['a method of WebDAV', 405, '/admin/keys', { method: 'PROPFIND' }],
  [
    'another method by a header',
    200,
    `/admin/keys?tenant=nobody`,
    { headers: { 'x-http-method-override': 'POST' } },
  ],
  [
    'a field of the prototype',
    400,
    '/admin/keys',
    { method: 'POST', body: '{"__proto__":{"tenant":"globex"},"tenant":"acme"}' },
  ],
  [
    'a field named constructor',
    400,
    '/admin/keys',
    { method: 'POST', body: { constructor: 'x', tenant: 'acme' } },
  ],
  [
    'an unknown plan',
    400,
    '/admin/keys',
    { method: 'POST', body: { tenant: 'acme', plan: '__proto__' } },
  ],
  ['a tenant that is a list', 400, '/admin/keys', { method: 'POST', body: { tenant: ['acme'] } }],
  [
    'a tenant that is no text',
    400,
    '/admin/keys',
    { method: 'POST', body: '{"tenant":"\\ud800"}' },
  ],
  [
    'a name for the key',
    400,
    '/admin/keys',
    { method: 'POST', body: { tenant: 'acme', key: NOBODY } },
  ],
  [
    'a prefix that is a key',
    400,
    '/admin/keys',
    { method: 'POST', body: { tenant: 'acme', prefix: 'x'.repeat(43) } },
  ],
  [
    'a duration that is none',
    400,
    '/admin/keys',
    { method: 'POST', body: { tenant: 'acme', expires: '-1d' } },
  ],
  [
    'an unknown role',
    400,
    '/admin/keys',
    { method: 'POST', body: { tenant: 'acme', role: 'root' } },
  ],
  ['no object', 400, '/admin/keys', { method: 'POST', body: '[]' }],
  ['deep nesting', 400, '/admin/keys', { method: 'POST', body: '['.repeat(8_000) }],
  ['a body that is too large', 413, '/admin/keys', { method: 'POST', body: 'x'.repeat(20_000) }],
  [
    'a form',
    415,
    '/admin/keys',
    { ...MAKE, headers: { 'content-type': 'application/x-www-form-urlencoded' } },
  ],
  ['no type', 415, '/admin/keys', { ...MAKE, headers: { 'content-type': 'text/plain' } }],
  [
    'a policy of the prototype',
    400,
    '/admin/limits/acme',
    { ...PUT, body: { policy: '__proto__', limit: 1 } },
  ],
  [
    'a limit that is no number',
    400,
    '/admin/limits/acme',
    { ...PUT, body: { policy: 'rpm', limit: 'NaN' } },
  ],
  ['a limit below zero', 400, '/admin/limits/acme', { ...PUT, body: { policy: 'rpm', limit: -1 } }],
  [
    'a limit of fractions',
    400,
    '/admin/limits/acme',
    { ...PUT, body: { policy: 'rpm', limit: 0.5 } },
  ],
  [
    'dollars without their sign',
    400,
    '/admin/limits/acme',
    { ...PUT, body: { policy: 'budget.daily', limit: 20 } },
  ],
  [
    'a policy that may not change',
    400,
    '/admin/limits/acme',
    { ...PUT, body: { policy: 'in-flight', limit: 1 } },
  ],
  [
    'a time that has passed',
    400,
    '/admin/limits/acme',
    { ...PUT, body: { ...RAISE, until: '2020-01-01T00:00Z' } },
  ],
  [
    'a budget that nothing counts by',
    400,
    '/admin/limits/acme/reset?team=a&user=b',
    { method: 'POST' },
  ],
  ['an empty Idempotency-Key', 400, '/admin/keys', { ...MAKE, headers: { 'idempotency-key': '' } }],
  [
    'a huge Idempotency-Key',
    400,
    '/admin/keys',
    { ...MAKE, headers: { 'idempotency-key': 'x'.repeat(5_000) } },
  ],
]

/** Makes an attack. Returns what it has got, and the state before and after it. */
async function attack([, , of, sent = {}]: Attack, key?: string) {
  const before = await gateway.state()
  const { keys } = gateway
  const path = typeof of === 'function' ? of(keys) : of
  const request = typeof sent === 'function' ? sent(keys) : sent
  const told = await gateway.send(path, { ...(key !== undefined && { key }), ...request })
  const names = told.text.match(/key_[0-9a-f]{16}/g) ?? []
  const got = {
    status: told.status,
    names: names.filter((name) => !path.includes(name)),
    data: told.text.match(/"(subject|createdAt|policies)"/g) ?? [],
    headers: [...told.headers.keys()].filter((name) => /^access-control|^set-cookie/.test(name)),
    state: await gateway.state(),
  }
  return { got, before }
}

/** A refusal that names no key but that of the attack, and has changed nothing. */
const refused = (status: number, state: unknown) => ({
  status,
  names: [],
  data: [],
  headers: [],
  state,
})

describe('the operator of one organisation, on another', () => {
  it.each(OF_ANOTHER.map((one) => [one[0], one] as const))('is refused: %s', async (_, one) => {
    const { got, before } = await attack(one, gateway.keys.acmeOperator.key)
    expect(got).toEqual(refused(one[1], before))
  })
})

describe('a stranger', () => {
  it.each(STRANGERS.map((one) => [one[0], one] as const))('is refused: %s', async (_, one) => {
    const { got, before } = await attack(one)
    expect(got).toEqual(refused(one[1], before))
  })

  it('is refused before anything is looked up, after 20 wrong keys of one address', async () => {
    const headers = { 'cf-connecting-ip': '198.51.100.7' }
    const statuses = await Promise.all(
      Array.from({ length: 40 }, async (_, at) => {
        const key = `sk_${createHash('sha256').update(`${at}`).digest('base64url')}`
        return (await gateway.send('/admin/keys', { key, headers })).status
      }),
    )
    expect(statuses.filter((status) => status === 401).length).toBeLessThanOrEqual(20)
    expect(new Set(statuses)).toEqual(new Set([401, 429]))
    // Neither another address nor the admin key waits for it.
    const { key } = gateway.keys.acmeOperator
    expect((await gateway.send('/admin/keys', { key })).status).toBe(200)
    expect((await gateway.send('/admin/keys?tenant=acme', { headers })).status).toBe(200)
  })
})

describe('a malformed request', () => {
  it.each(MALFORMED.map((one) => [one[0], one] as const))('changes nothing: %s', async (_, one) => {
    const { got, before } = await attack(one)
    expect(got).toEqual(refused(one[1], before))
  })
})

it('has nothing below /admin without an admin key', async () => {
  const app = await startGateway({})
  try {
    const headers = { authorization: `Bearer ${ADMIN_KEY}` }
    for (const path of ['/admin', '/admin/keys?tenant=acme', '/admin/openapi.json'])
      expect((await fetch(app.url + path, { headers })).status).toBe(404)
  } finally {
    await app.stop()
  }
})
