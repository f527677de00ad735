/* The OpenAPI document of administration, held against the gateway: each operation, status and field. */
import { once } from '@sluice/core/operator'
import { StoreError } from '@sluice/core'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { ADDRESSES } from '../../apps/worker/src/admin/admin.ts'
import type { Schema } from '../../apps/worker/src/admin/fields.ts'
import { openApiOf } from '../../apps/worker/src/admin/openapi.ts'
import {
  ADMIN_KEY,
  startAdministered,
  type Administered,
  type Sent,
  type Told,
} from './support/admin.ts'
import { startGateway } from './support/gateway.ts'

interface Operation {
  readonly operationId: string
  readonly parameters: readonly { readonly name: string; readonly in: string }[]
  readonly requestBody?: { readonly content: { 'application/json': { schema: Schema } } }
  readonly responses: Readonly<
    Record<string, { readonly content: { 'application/json': { schema: Schema } } }>
  >
}

/** The document that tests are made from. The gateway has to serve the same. */
const document = JSON.parse(JSON.stringify(openApiOf(ADDRESSES))) as {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: { readonly schemas: { readonly Error: Schema } }
}

interface Row {
  readonly id: string
  readonly method: string
  readonly path: string
  readonly operation: Operation
}

const ROWS: readonly Row[] = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => {
    return { id: operation.operationId, method: method.toUpperCase(), path, operation }
  }),
)

/** A request of each operation that succeeds, in this order. `{id}` is a new key, or one of `of`. */
const REQUESTS: Readonly<Record<string, { readonly query?: string; readonly body?: object }>> = {
  listKeys: { query: '?tenant=acme' },
  createKey: { body: { tenant: 'acme', expires: '90d' } },
  readKey: {},
  changeKey: { body: { in: '1h' } },
  rotateKey: { body: {} },
  revokeKey: {},
  readLimits: {},
  setLimits: { body: { policy: 'rpm', limit: 30 } },
  removeLimit: { query: '?policy=rpm' },
  stop: { body: { until: '1h' } },
  start: { body: {} },
  raise: { body: { policy: 'rpm', limit: 30, until: '1h' } },
  reset: { body: { settings: true } },
  setPlan: { body: { plan: 'growth' } },
  readDocument: {},
}

/** The requests for which the operator of one organisation is refused, and limits that were set before. */
const ADMIN_ONLY: Readonly<Record<string, { readonly body?: object; readonly isRaised?: true }>> = {
  createKey: { body: { plan: 'enterprise' } },
  changeKey: { body: { plan: 'growth' } },
  setLimits: {},
  removeLimit: {},
  stop: { isRaised: true },
  start: {},
  raise: {},
  reset: {},
  setPlan: {},
}

let gateway: Administered
let down: Awaited<ReturnType<typeof startGateway>>
beforeAll(async () => {
  const closed = { UPSTASH_REDIS_REST_URL: 'http://127.0.0.1:9', UPSTASH_REDIS_REST_TOKEN: 'none' }
  const admin = { ADMIN_KEY, STORE: '127.0.0.1:9' }
  ;[gateway, down] = await Promise.all([startAdministered(), startGateway({ ...closed, ...admin })])
})
afterAll(async () => {
  await gateway[Symbol.asyncDispose]()
  await down.stop()
})
beforeEach(() => gateway.refill())

/** Returns the path of an operation with values for its parts, and the query of its request. */
const pathOf = ({ id, path }: Row, tenant: string, key: string): string =>
  path.replace('{tenant}', tenant).replace('{id}', key) + (REQUESTS[id]?.query ?? '')

const requestOf = ({ id, method }: Row): Sent => {
  const body = REQUESTS[id]?.body
  return { method, ...(body && { body }) }
}

/** Sends a request of an operation that would succeed, with changes. */
async function send(row: Row, changes: Sent & { query?: string } = {}): Promise<Told> {
  const { query, ...sent } = changes
  const path = pathOf(row, 'acme', gateway.keys.acme.id)
  const more = query === undefined ? '' : `${path.includes('?') ? '&' : '?'}${query}`
  return gateway.send(path + more, { ...requestOf(row), ...sent })
}

const hasBody = ({ operation }: Row): boolean => operation.requestBody !== undefined
const isChange = ({ operation }: Row): boolean =>
  operation.parameters.length > 0 && JSON.stringify(operation.parameters).includes('IdempotencyKey')

/** A request for each documented status but success. */
const REFUSALS: Readonly<Record<string, (row: Row) => Promise<Told>>> = {
  400: (row) => send(row, { query: 'unknown=1' }),
  401: (row) => send(row, { key: `sk_${'x'.repeat(43)}` }),
  async 403(row) {
    const { key } = gateway.keys.acmeOperator
    const { isRaised, ...changes } = ADMIN_ONLY[row.id] ?? {}
    const raise = { method: 'POST', body: { policy: 'rpm', limit: 30, until: '1h' } }
    if (isRaised) await gateway.send('/admin/limits/acme/raise', raise)
    const told = await send(row, { ...changes, key })
    if (isRaised) await gateway.send('/admin/limits/acme?policy=rpm', { method: 'DELETE' })
    return told
  },
  404(row) {
    const { key } = gateway.keys.acmeOperator
    const { id, method, path } = row
    const sent = { ...requestOf(row), key }
    if (path.includes('{')) return gateway.send(pathOf(row, 'globex', gateway.keys.globex.id), sent)
    if (method === 'GET') return gateway.send('/admin/keys?tenant=globex', sent)
    return gateway.send(path, { ...sent, body: { ...REQUESTS[id]?.body, tenant: 'globex' } })
  },
  async 409(row) {
    const path = pathOf(row, 'acme', gateway.keys.acme.id)
    const { body } = requestOf(row)
    const text = `${row.method} ${path}\n${body === undefined ? '' : JSON.stringify(body)}`
    await once(gateway.limiter, { id: `admin lost-${row.id}`, text }, losesReply).catch(() => {})
    return send(row, { headers: { 'idempotency-key': `lost-${row.id}` } })
  },
  413: (row) => send(row, { body: JSON.stringify({ note: 'x'.repeat(20_000) }) }),
  415: (row) => send(row, { headers: { 'content-type': 'text/plain' }, body: '{}' }),
  async 422(row) {
    const name = `mismatch-${row.id}`
    await once(gateway.limiter, { id: `admin ${name}`, text: 'another' }, async () => '{}')
    return send(row, { headers: { 'idempotency-key': name } })
  },
  async 429(row) {
    await gateway.count('all', 'admin', 60)
    return send(row)
  },
  async 503(row) {
    const init = { method: row.method, headers: { authorization: `Bearer ${ADMIN_KEY}` } }
    const answer = await fetch(down.url + pathOf(row, 'acme', gateway.keys.acme.id), init)
    const text = await answer.text()
    const json = JSON.parse(text) as Record<string, unknown>
    return { status: answer.status, headers: answer.headers, text, json }
  },
}

async function losesReply(): Promise<string> {
  throw new StoreError('store_timeout', 'The reply is lost')
}

/** Makes a key. */
async function create(): Promise<{ readonly id: string; readonly key: string }> {
  const body = { tenant: 'acme', plan: 'growth', expires: '90d' }
  const { json } = await gateway.send('/admin/keys', { method: 'POST', body })
  return { id: String(json['id']), key: String(json['key']) }
}

describe('the OpenAPI document of administration', () => {
  it('is served as the tests read it', async () => {
    expect((await gateway.send('/admin/openapi.json')).json).toEqual(document)
  })

  it('has a request of this test for each operation', () => {
    expect(ROWS.map(({ id }) => id).toSorted()).toEqual(Object.keys(REQUESTS).toSorted())
    expect(new Set(ROWS.map(({ path }) => path)).size).toBeGreaterThan(7)
  })

  it('names each status that an operation has', () => {
    for (const row of ROWS) {
      const statuses = Object.keys(row.operation.responses).filter(
        (status) => Number(status) >= 400,
      )
      const known = Object.keys(REFUSALS).filter(
        (status) =>
          (status !== '415' || hasBody(row)) &&
          (!['409', '413', '422'].includes(status) || isChange(row)) &&
          (status !== '403' || row.id in ADMIN_ONLY) &&
          (status !== '404' || row.id !== 'readDocument'),
      )
      expect([row.id, statuses]).toEqual([row.id, known])
    }
  })

  const refusals = ROWS.flatMap((row) =>
    Object.keys(row.operation.responses)
      .filter((status) => Number(status) >= 400)
      .map((status) => [row.id, status, row] as const),
  )
  it.each(refusals)(
    '%s answers %s where the document says so, and changes nothing',
    async (_, status, row) => {
      const before = await gateway.state()
      const told = await (REFUSALS[status] as (row: Row) => Promise<Told>)(row)
      expect({ status: told.status, text: told.text }).toEqual({
        status: Number(status),
        text: told.text,
      })
      expect(mistakes(told.json, document.components.schemas.Error)).toEqual([])
      expect(told.headers.get('access-control-allow-origin')).toBeNull()
      expect(told.headers.get('cache-control')).toBe('no-store')
      expect(await gateway.state()).toEqual(before)
    },
  )

  it('describes each answer, and has no field that no answer has', async () => {
    const seen = new Set<string>()
    for (const row of ROWS) {
      const made = await create()
      const key = made.id
      // A key that was replaced.
      if (row.id === 'readKey') await gateway.send(`/admin/keys/${key}/rotate`, { method: 'POST' })
      // A key that was used.
      if (row.id === 'listKeys') await gateway.send('/v1/models', { key: made.key })
      const [success = ''] = Object.keys(row.operation.responses)
      const told = await gateway.send(pathOf(row, 'acme', key), requestOf(row))
      expect([row.id, told.status, told.text]).toEqual([row.id, Number(success), told.text])
      const { schema } = (row.operation.responses[success] as Operation['responses'][string])
        .content['application/json']
      expect([row.id, mistakes(told.json, schema)]).toEqual([row.id, []])
      if (row.id === 'readDocument') continue
      for (const field of fieldsIn(told.json)) seen.add(field)
      await gateway.refill()
    }
    const named = ROWS.flatMap(({ operation }) =>
      Object.entries(operation.responses)
        .filter(([status]) => Number(status) < 400)
        .flatMap(([, { content }]) => namesIn(content['application/json'].schema)),
    )
    expect([...new Set(named)].filter((name) => !seen.has(name))).toEqual([])
  })
})

describe('an operator of one organisation', () => {
  const scoped = ROWS.filter(({ path }) => path !== '/admin/openapi.json')

  it.each(scoped.map((row) => [row.id, row] as const))(
    'sees of another organisation as little as of none: %s',
    async (_, row) => {
      const { key } = gateway.keys.acmeOperator
      const ask = async (tenant: string, id: string): Promise<unknown> => {
        const sent = { ...requestOf(row), key }
        const path = row.path.includes('{')
          ? pathOf(row, tenant, id)
          : row.method === 'GET'
            ? `/admin/keys?tenant=${tenant}`
            : row.path
        const isCreation = row.id === 'createKey'
        const told = await gateway.send(path, isCreation ? { ...sent, body: { tenant } } : sent)
        return [told.status, told.text.replaceAll(id, 'ID').replaceAll(tenant, 'TENANT')]
      }
      const other = await ask('globex', gateway.keys.globex.id)
      expect(other).toEqual([404, expect.stringContaining('not_found')])
      expect(await ask('nobody', 'key_0123456789abcdef')).toEqual(other)
      // Nor of the keys of operators of its own.
      const own = row.path.includes('{id}')
        ? await ask('acme', gateway.keys.acmeOperator.id)
        : other
      expect(own).toEqual(other)
    },
  )
})

/** Lists what keeps a value from having a schema. */
function mistakes(value: unknown, schema: Schema, at = ''): string[] {
  const { type, properties = {}, required = [], additionalProperties = true, items } = schema
  const kind = Array.isArray(value) ? 'array' : value === null ? 'null' : typeof value
  if (type !== undefined && ![type].flat().includes(kind)) return [`${at} is ${kind}`]
  if (Array.isArray(value))
    return items ? value.flatMap((one, index) => mistakes(one, items, `${at}[${index}]`)) : []
  if (typeof value !== 'object' || value === null) return []
  const missing = required.filter((name) => !Object.hasOwn(value, name))
  return [
    ...missing.map((name) => `${at}.${name} is missing`),
    ...Object.entries(value).flatMap(([name, inner]) => {
      const own = properties[name]
      if (own) return mistakes(inner, own, `${at}.${name}`)
      if (additionalProperties === false) return [`${at}.${name} is not documented`]
      return additionalProperties === true
        ? []
        : mistakes(inner, additionalProperties, `${at}.${name}`)
    }),
  ]
}

/** The names of all fields of a value. */
function fieldsIn(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return []
  const inner = Object.values(value).flatMap(fieldsIn)
  return Array.isArray(value) ? inner : [...Object.keys(value), ...inner]
}

/** The names of all fields of a schema. */
const namesIn = ({ properties = {}, items }: Schema): string[] => [
  ...Object.keys(properties),
  ...Object.values(properties).flatMap(namesIn),
  ...(items ? namesIn(items) : []),
]
