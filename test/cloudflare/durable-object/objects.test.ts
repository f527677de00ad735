import {
  createLimiter,
  fixedWindow,
  slidingWindow,
  tokenBucket,
  type Algorithm,
} from '@sluice/core'
import { definePolicy } from '@sluice/core'
import { reservation, reserve } from '@sluice/core/reservations'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { durableObjects } from '../../../packages/cloudflare/dist/durable-object/durable-objects.js'
import { freshPrefix } from '../../support/stores.ts'
import { startWorkerdObjects, type WorkerdObjects } from '../../support/workerd-objects.ts'

let objects: WorkerdObjects

beforeAll(async () => {
  objects = await startWorkerdObjects()
})
afterAll(() => objects[Symbol.asyncDispose]())

const PER_TENANT = { name: 'rpm', limit: 20, window: '1h', per: ['tenant'] } as const
const open = (prefix = freshPrefix()) =>
  durableObjects(objects.namespace, { timeoutMs: 30_000, prefix })

it('each tenant has an object, and what has no tenant is refused with its remedies', () => {
  const store = durableObjects(objects.namespace)
  const everyone = fixedWindow({ name: 'everyone', limit: 5, window: '1h', per: 'global' })
  const create = () => createLimiter({ store, policies: [slidingWindow(PER_TENANT), everyone] })
  expect(create).toThrow(/policies\.everyone\.per: must count per "tenant".*shardBy: 'global'/)
  const inOne = durableObjects(objects.namespace, { shardBy: 'global' })
  expect(() => createLimiter({ store: inOne, policies: [everyone] })).not.toThrow()
})

it.each([
  [undefined, {}, /durableObjects\.namespace: must be the binding of a Durable Object/],
  ['text', {}, /durableObjects\.namespace/],
  ['ok', { shardBy: 'a b' }, /durableObjects\.shardBy/],
  ['ok', { shardBy: '' }, /durableObjects\.shardBy/],
  ['ok', { locationHint: 'mars' }, /durableObjects\.locationHint/],
  ['ok', { timeoutMs: 0 }, /durableObjects\.timeoutMs/],
  ['ok', { timeout: 5 }, /durableObjects\.timeout/],
])('the binding %s with %o is refused', (binding, options, message) => {
  const namespace = binding === 'ok' ? objects.namespace : binding
  expect(() => durableObjects(namespace as never, options as never)).toThrow(message)
})

it('a decision names the object that has made it', async () => {
  const policies = [slidingWindow(PER_TENANT)]
  const limiter = createLimiter({ store: open(), policies })
  expect(await limiter.check({ tenant: 'a:b/c' })).toMatchObject({ place: 'tenant=a%3Ab/c' })
  const one = durableObjects(objects.namespace, { shardBy: 'global', prefix: freshPrefix() })
  const inOne = createLimiter({ store: one, policies })
  expect(await inOne.check({ tenant: 'acme' })).toMatchObject({ place: 'home' })
})

it('a subject without a tenant is an InputError', async () => {
  const policies = [slidingWindow({ ...PER_TENANT, onMissing: 'skip' })]
  const limiter = createLimiter({ store: open(), policies })
  const subject = { user: 'u' } as never
  expect(await limiter.check(subject)).toMatchObject({ allowed: true, policies: [] })
  const strict = createLimiter({
    store: open(),
    policies: [slidingWindow(PER_TENANT)],
  })
  await expect(strict.check(subject)).rejects.toMatchObject({ code: 'missing_dimension' })
})

it('an object that is aborted again and again loses nothing that it has answered', async () => {
  const prefix = freshPrefix()
  const store = open(prefix)
  const policies = [slidingWindow({ ...PER_TENANT, limit: 400 })]
  const limiter = createLimiter({ store, policies, onStoreError: 'deny' })
  let allowed = 0
  let degraded = 0
  await Promise.all([
    ...Array.from({ length: 8 }, async () => {
      for (let call = 0; call < 60; call += 1) {
        const decision = await limiter.check({ tenant: 'acme' })
        if (decision.degraded) degraded += 1
        else if (decision.allowed) allowed += 1
      }
    }),
    (async () => {
      for (let death = 0; death < 20; death += 1) await objects.die(`${prefix}/tenant=acme`)
    })(),
  ])
  const {
    policies: [state],
  } = await limiter.peek({ tenant: 'acme' })
  const counted = 400 - (state?.remaining ?? 0)
  expect(allowed).toBeLessThanOrEqual(400)
  expect(counted).toBeGreaterThanOrEqual(allowed)
  // A call that died may have been counted; no other can.
  expect(counted).toBeLessThanOrEqual(allowed + degraded)
})

it('two deploys with other policies count side by side', async () => {
  const prefix = freshPrefix()
  const before = createLimiter({ store: open(prefix), policies: [slidingWindow(PER_TENANT)] })
  const after = createLimiter({
    store: open(prefix),
    policies: [
      slidingWindow({ ...PER_TENANT, limit: 30 }),
      tokenBucket({ name: 'calls', limit: 5, window: '1h', per: ['tenant'], unit: 'call' }),
    ],
  })
  const subject = { tenant: 'acme' }
  const made = await reserve(after, subject, { cost: { request: 4, call: 2 } })
  const data = made.allowed ? made.toJSON() : undefined
  for (let call = 0; call < 16; call += 1) await before.check(subject)
  // The count of both, each by its own limit.
  expect(await before.check(subject)).toMatchObject({ allowed: false })
  expect(await after.check(subject, { cost: { call: 0 } })).toMatchObject({ allowed: true })
  // The old deploy settles what it knows of a reservation of the new one.
  const { applied } = await reservation(before, data).settle({ request: 0 })
  expect(applied).toBe(true)
  expect(await before.peek(subject)).toMatchObject({ policies: [{ remaining: 3 }] })
  expect(await after.peek(subject)).toMatchObject({
    policies: [{ remaining: 13 }, { remaining: 3 }],
  })
})

it('an object deletes itself when nothing is left, and begins anew when it is asked again', async () => {
  const prefix = freshPrefix()
  const store = open(prefix)
  const name = `${prefix}/tenant=acme`
  const policies = [slidingWindow({ ...PER_TENANT, window: '1s' })]
  const limiter = createLimiter({ store, policies })
  await limiter.peek({ tenant: 'acme' })
  expect(await objects.facts(name)).toMatchObject({ alarm: null, tables: 0 })
  await limiter.check({ tenant: 'acme' })
  const { alarm, tables } = await objects.facts(name)
  expect(tables).toBe(1)
  // One alarm, an hour on at least.
  expect(alarm).toBeGreaterThan(Date.now() + 3_000_000)
  await vi.waitUntil(async () => {
    await objects.ring(name)
    return (await objects.facts(name)).tables === 0
  }, 20_000)
  expect(await limiter.check({ tenant: 'acme' })).toMatchObject({ allowed: true, source: 'store' })
  expect(await objects.facts(name)).toMatchObject({ tables: 1 })
})

it('an object that does not know an algorithm or an operation says so, and the decision is degraded', async () => {
  const algorithm: Algorithm = {
    id: 'test.own',
    check: () => ({ fits: true, available: 1, resetMs: 0, retryMs: 0 }),
    add: () => ({ state: 1, expiresAt: Infinity, position: 0 }),
    lua: () => ({ check: '', add: '', position: '' }),
  } as never
  const own = definePolicy(
    'own',
    { ...PER_TENANT, window: undefined } as never,
    ['window'],
    () => ({
      algorithm,
      params: [],
      windowMs: 1_000,
    }),
  )
  const store = open()
  const limiter = createLimiter({ store, policies: [own], onStoreError: 'deny' })
  expect(await limiter.check({ tenant: 'acme' })).toMatchObject({
    allowed: false,
    degraded: { cause: 'store_refused' },
  })
  const operation = {
    kind: { name: 'mine', run: () => 1 },
    keys: ['k'],
    data: {},
    startedAt: Date.now(),
  }
  await expect(store.run(operation)).rejects.toThrow(
    /does not know the operation "mine"; name it in "own"/,
  )
})

it.each([
  ['SQL is not enabled for this Durable Object class.', 'store_refused', /needs SQLite storage/],
  ['The RPC receiver does not implement the method "sluice".', 'store_refused', /LimitsObject/],
  ['The receiving Durable Object does not support RPC', 'store_refused', /LimitsObject/],
  ['Network connection lost.', 'store_unreachable', /cannot be reached/],
])('the failure "%s" has its remedy', async (message, code, text) => {
  const get = () => ({ sluice: () => Promise.reject(new Error(message)) })
  const store = durableObjects({ idFromName: (name: string) => name as never, get })
  const limiter = createLimiter({ store, policies: [slidingWindow(PER_TENANT)] })
  const resetting = limiter.reset({ tenant: 'acme' })
  await expect(resetting).rejects.toMatchObject({ code, message: expect.stringMatching(text) })
})

it('an operation on keys of two tenants is refused: no step spans two places', async () => {
  const kind = { name: 'mine', run: () => 1 }
  const keys = ['a:tenant=acme', 'a:tenant=globex']
  const running = open().run({ kind, keys, data: {}, startedAt: Date.now() })
  await expect(running).rejects.toThrow(/operation\.keys: must all be of one "tenant"/)
})

it('a function in the data of an operation is refused: it would become a stub in silence', async () => {
  const store = open()
  const data = { change: () => 1 }
  const operation = {
    kind: { name: 'mine', run: () => 1 },
    keys: ['k'],
    data,
    startedAt: Date.now(),
  }
  await expect(store.run(operation)).rejects.toThrow(/"change" is a function/)
})

it('a reservation of which nothing was charged is settled where it was made', async () => {
  const store = open()
  const policies = [slidingWindow({ ...PER_TENANT, unit: 'token', limit: 1_000 })]
  const limiter = createLimiter({ store, policies })
  const call = await reserve(limiter, { tenant: 'acme' }, { cost: { token: 100 } })
  // As many as were reserved: no charge is corrected, and only the mark is asked for.
  expect(call.allowed && (await call.settle({ token: 100 })).applied).toBe(true)
  expect(call.allowed && (await call.settle({ token: 100 })).why).toBe('settled_before')
})
