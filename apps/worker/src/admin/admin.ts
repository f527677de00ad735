/* Administration over HTTP: who may ask, how often, what is done, and its line in the log. */
import {
  ConfigError,
  createLimiter,
  InputError,
  slidingWindow,
  StoreError,
  type Limiter,
  type Store,
} from '@sluice/core'
import { denialBody, rateLimitHeaders, Refusal, tooManyRequests } from '@sluice/core/http'
import { once, OperatorError } from '@sluice/core/operator'
import type { CallNotes } from '../call-notes.ts'
import { errorAnswer } from '../errors.ts'
import type { KeyVerifier } from '../keys.ts'
import type { Address, AdminCall } from './call.ts'
import { readBody, readQuery } from './fields.ts'
import { KEY_ADDRESSES } from './keys.ts'
import { LIMIT_ADDRESSES } from './limits.ts'
import { openApiOf } from './openapi.ts'
import { operatorOf, type Operator } from './operators.ts'
import { PLAN_ADDRESSES } from './plans.ts'
import { AdminRefusal, nothingHere } from './refusal.ts'
import { findAddress, methodsOf } from './routes.ts'

/** Answers `GET` of an address of another part of the gateway. */
type OtherAddress = (request: Request, limiter: Limiter, operator: Operator) => Promise<Response>

export interface AdminOptions {
  readonly limiter: Limiter
  /** The store of the limiter. */
  readonly store: Store
  readonly verify: KeyVerifier
  /** Pages without any data, which need no key. */
  readonly pages: ReadonlyMap<string, () => Response>
  /** Addresses below `/admin` of other parts of the gateway. */
  readonly others: ReadonlyMap<string, OtherAddress>
  /** Returns a tenant as the log may name it. */
  readonly nameTenant: (tenant: string) => Promise<string>
}

/** The requests of one operator in a minute. */
const CALLS_PER_MINUTE = 60

export const ADDRESSES: readonly Address[] = [
  ...KEY_ADDRESSES,
  ...LIMIT_ADDRESSES,
  ...PLAN_ADDRESSES,
  {
    id: 'readDocument',
    method: 'GET',
    path: '/admin/openapi.json',
    summary: 'This document',
    answer: { type: 'object', additionalProperties: true },
    isScoped: false,
    run: async () => openApiOf(ADDRESSES),
  },
]

/** Creates the limiter of the requests of operators, over the store of the gateway. */
export const operatorCalls = (store: Store): Limiter =>
  createLimiter({
    store,
    policies: [
      slidingWindow({
        name: 'admin',
        limit: CALLS_PER_MINUTE,
        window: '1m',
        per: ['tenant', 'operator'],
      }),
    ],
    onStoreError: 'deny',
  })

/** The facts of one request, for its line in the log. */
interface Action {
  operator?: Operator
  /** The name of the operation, or another address. */
  name?: string
  path?: Readonly<Record<string, string>>
  isRepeated?: true
}

/** Creates the answers of all addresses below `/admin`. */
export function administration(options: AdminOptions) {
  const { limiter, store, verify, pages, others } = options
  const calls = operatorCalls(store)

  async function answer(request: Request, action: Action): Promise<Response> {
    const url = new URL(request.url)
    const page = request.method === 'GET' ? pages.get(url.pathname) : undefined
    if (page) return page()
    const found = await verify(request)
    if (found instanceof Refusal) {
      const { status, code, message, headers } = found.options
      return errorAnswer(status, code, message, headers)
    }
    const operator = operatorOf(found)
    action.operator = operator
    const { id, tenant = 'all' } = operator
    const decision = await calls.check({ tenant, operator: id })
    if (!decision.allowed) {
      const { error, message } = denialBody(decision)
      const { status, headers } = tooManyRequests(decision)
      const retryAfter = headers.get('retry-after') ?? '1'
      const told = { ...rateLimitHeaders(decision, ['draft']), 'retry-after': retryAfter }
      return errorAnswer(status, error, message, told)
    }
    const other = others.get(url.pathname)
    if (other && request.method === 'GET') {
      action.name = url.pathname
      return other(request, limiter, operator)
    }
    const match = findAddress(ADDRESSES, request.method, url.pathname)
    if (!match) {
      const allow = other ? ['GET'] : methodsOf(ADDRESSES, url.pathname)
      if (allow.length === 0) throw nothingHere()
      const message = `Use ${allow.join(' or ')}.`
      throw new AdminRefusal(405, 'method_not_allowed', message, { allow: allow.join(', ') })
    }
    const { address, path } = match
    Object.assign(action, { name: address.id, path })
    const query = readQuery(url, address.query)
    const { raw, values } = await readBody(request, address.body)
    const call: AdminCall = { limiter, operator, path, query, body: values }
    const { body, isRepeated } = await runOnce(address, call, request, raw)
    if (isRepeated) action.isRepeated = true
    return Response.json(body, {
      status: address.status ?? 200,
      headers: { ...HEADERS, ...(isRepeated && { 'idempotent-replayed': 'true' }) },
    })
  }

  return async (request: Request, notes: CallNotes): Promise<Response> => {
    notes.address = '/admin'
    const action: Action = {}
    const answered = await answer(request, action).catch(refusalOf)
    if (action.operator || answered.status >= 400)
      await log(options, notes, action, answered.status)
    return answered
  }
}

const HEADERS = { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' }

const NAME = /^[\x21-\x7e]{1,128}$/

/** Runs a call, at most once for its `Idempotency-Key`. */
async function runOnce(address: Address, call: AdminCall, request: Request, raw: string) {
  const name = request.headers.get('idempotency-key')
  if (address.method === 'GET' || name === null) {
    return { body: await address.run(call), isRepeated: false }
  }
  if (!NAME.test(name)) {
    const message = 'Idempotency-Key must have 1 to 128 visible characters.'
    throw new AdminRefusal(400, 'invalid_request', message)
  }
  const { pathname, search } = new URL(request.url)
  const sent = {
    id: `${call.operator.id} ${name}`,
    text: `${address.method} ${pathname}${search}\n${raw}`,
  }
  let body: Readonly<Record<string, unknown>> = {}
  const outcome = await once(call.limiter, sent, async () => {
    body = await address.run(call)
    // A key is shown once, and kept nowhere.
    return JSON.stringify(typeof body['key'] === 'string' ? { ...body, key: null } : body)
  })
  if (outcome.kind === 'first') return { body, isRepeated: false }
  if (outcome.kind === 'repeated') {
    return { body: JSON.parse(outcome.answer) as typeof body, isRepeated: true }
  }
  if (outcome.kind === 'other request') {
    const message = 'This Idempotency-Key was sent with another request.'
    throw new AdminRefusal(422, 'idempotency_mismatch', message)
  }
  const message =
    'The first request of this Idempotency-Key runs, or nobody knows how it ended. Look before you send another.'
  throw new AdminRefusal(409, 'unknown_outcome', message)
}

const STATUSES = { invalid: 400, absent: 404, conflict: 409 } as const
const CODES = { invalid: 'invalid_request', absent: 'not_found', conflict: 'conflict' } as const

/** Returns the answer for an error. */
function refusalOf(error: unknown): Response {
  if (error instanceof AdminRefusal) {
    return errorAnswer(error.status, error.code, error.message, error.headers)
  }
  if (error instanceof OperatorError) {
    return errorAnswer(STATUSES[error.kind], CODES[error.kind], error.message)
  }
  if (error instanceof StoreError) {
    const message = 'The store does not answer. The change may have been made.'
    return errorAnswer(503, 'store_unavailable', message, { 'retry-after': '1' })
  }
  if (error instanceof ConfigError) {
    const isFull = error.code === 'configuration_full'
    const message = `${error.option.replace(/^configure(As)?\./, '')}: ${error.reason}`
    return errorAnswer(isFull ? 409 : 400, isFull ? 'conflict' : 'invalid_request', message)
  }
  if (error instanceof InputError) {
    return errorAnswer(400, 'invalid_request', `${error.input}: ${error.reason}`)
  }
  throw error
}

/** Writes who did what, and how it ended. Names of others' choice are cut off. */
async function log(
  { nameTenant }: AdminOptions,
  { id, startedAt }: CallNotes,
  { operator, name, path = {}, isRepeated }: Action,
  status: number,
): Promise<void> {
  const tenant = path['tenant'] ?? operator?.tenant
  const key = /^key_[0-9a-f]{16}$/.exec(path['id'] ?? '')?.[0]
  const line = {
    time: new Date(startedAt).toISOString(),
    request: id,
    operator: operator?.id,
    action: name,
    tenant: tenant === undefined ? undefined : (await nameTenant(tenant)).slice(0, 64),
    key,
    status,
    outcome: isRepeated ? 'repeated' : status < 400 ? 'done' : 'refused',
  }
  console.log(JSON.stringify(line))
}
