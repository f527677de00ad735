import { randomUUID } from 'node:crypto'
import { createLimiter, slidingWindow } from '@sluice/core'
import { durableObjects, operatorHandler, remoteObjects } from '@sluice/cloudflare/operator'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startWorker, type TestWorker } from './support.ts'

const TOKEN = randomUUID()
let worker: TestWorker

beforeAll(async () => {
  worker = await startWorker('operated', { TOKEN }, { objects: { LIMITS: 'Limits' } })
})
afterAll(() => worker[Symbol.asyncDispose]())

const NAMESPACE = remoteObjects({ url: 'https://worker.example', token: TOKEN })
const policies = [slidingWindow({ name: 'rpm', limit: 5, window: '1m', per: ['tenant'] })]
const limiterAt = (url: string, token = TOKEN) =>
  createLimiter({
    store: durableObjects(remoteObjects({ url, token }), { timeoutMs: 30_000 }),
    policies,
    onStoreError: 'deny',
  })

const call = (init: RequestInit) => fetch(worker.url, { redirect: 'manual', ...init })
const authorization = (token: string) => ({ authorization: `Bearer ${token}` })

describe('the handler for operators', () => {
  it('decides in the objects that the Worker counts in', async () => {
    const limiter = limiterAt(String(worker.url))
    const all = Array.from({ length: 20 }, () => limiter.check({ tenant: 'a:b/c é' }))
    const allowed = (await Promise.all(all)).filter((decision) => decision.allowed)
    expect(allowed).toHaveLength(5)
    await limiter.reset({ tenant: 'a:b/c é' })
    expect(await limiter.peek({ tenant: 'a:b/c é' })).toMatchObject({ allowed: true })
  })

  it.each([
    ['GET', 405, { method: 'GET', headers: authorization(TOKEN) }],
    ['no token', 401, { method: 'POST' }],
    ['another token', 401, { method: 'POST', headers: authorization(randomUUID()) }],
    ['a part of it', 401, { method: 'POST', headers: authorization(TOKEN.slice(1)) }],
    ['another scheme', 401, { method: 'POST', headers: { authorization: `Basic ${TOKEN}` } }],
    ['no call', 400, { method: 'POST', headers: authorization(TOKEN), body: '{"name":"home"}' }],
    ['no JSON', 400, { method: 'POST', headers: authorization(TOKEN), body: '{' }],
  ])('refuses %s with %i', async (_, status, init) => {
    const response = await call(init)
    expect(response.status).toBe(status)
    expect(response.headers.get('cache-control')).toBe('no-store')
    expect(await response.json()).toEqual({ message: expect.any(String) })
  })

  it('passes the faults of an object on', async () => {
    const body = JSON.stringify({ name: 'tenant=acme', message: 'no message' })
    const response = await call({ method: 'POST', headers: authorization(TOKEN), body })
    expect({ status: response.status, ...((await response.json()) as object) }).toEqual({
      status: 502,
      durableObjectReset: true,
      message: expect.stringContaining('JSON'),
    })
  })

  it.each([undefined, {}, { token: undefined }, { token: '' }, { token: 'x'.repeat(31) }])(
    'is not made with %j, so that it never stands open',
    (options) => {
      expect(() => operatorHandler(NAMESPACE, options as never)).toThrow(/operatorHandler/)
    },
  )

  it('needs a binding, and shows no secret', () => {
    expect(() => operatorHandler(undefined as never, { token: TOKEN })).toThrow(
      /operatorHandler\.namespace: must be the binding of a Durable Object/,
    )
    expect(() => operatorHandler(NAMESPACE, { token: 'short secret' })).toThrow(
      /^(?!.*short secret).*32 characters/,
    )
  })
})

describe('objects reached from outside', () => {
  it.each([
    ['http://worker.example/sluice', TOKEN, /remoteObjects\.url: must be the https address/],
    ['ftp://worker.example', TOKEN, /remoteObjects\.url/],
    ['worker.example', TOKEN, /remoteObjects\.url/],
    ['https://u:p@worker.example', TOKEN, /remoteObjects\.url: must have no user/],
    [undefined, TOKEN, /remoteObjects\.url/],
    ['https://worker.example', 'short', /remoteObjects\.token/],
    ['https://worker.example', undefined, /remoteObjects\.token/],
  ])('the address %s with the token %s is refused', (url, token, message) => {
    expect(() => remoteObjects({ url, token } as never)).toThrow(message)
  })

  it('say why they do not decide', async () => {
    const causeOf = async (limiter: ReturnType<typeof limiterAt>) =>
      (await limiter.check({ tenant: 'acme' })).degraded
    expect(await causeOf(limiterAt(String(worker.url), randomUUID()))).toMatchObject({
      cause: 'store_unauthorized',
    })
    await using other = await startWorker('leaving')
    expect(await causeOf(limiterAt(String(other.url)))).toMatchObject({ cause: 'store_bad_reply' })
    expect(await causeOf(limiterAt('http://127.0.0.1:1/sluice'))).toMatchObject({
      cause: 'store_unreachable',
    })
  })
})
