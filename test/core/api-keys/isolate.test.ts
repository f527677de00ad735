import { Refusal } from '@sluice/core/http'
import {
  apiKeys,
  createApiKey,
  expireApiKey,
  listApiKeys,
  revokeApiKey,
  rotateApiKey,
} from '@sluice/core/api-keys'
import { memory } from '@sluice/core/memory'
import { describe, expect, it } from 'vitest'
import { collectProblems, setUp } from '../../support/limiters.ts'
import { MINUTE } from '../../support/times.ts'
import { Interrupted, RPM, sent } from './support.ts'

const ACME = { tenant: 'acme' }
const NO_KEY = `sk_${'x'.repeat(43)}`

function start() {
  const store = new Interrupted(memory())
  const { problems, listener } = collectProblems()
  const { limiter, clock } = setUp([RPM], { store, extensions: [listener] })
  const isolate = apiKeys(limiter)
  const resolve = (key: string) => isolate(sent(key))
  return { store, problems, limiter, clock, resolve }
}

describe('an isolate', () => {
  it('asks once in five seconds for each key, known or not', async () => {
    const { store, limiter, clock, resolve } = start()
    const { key } = await createApiKey(limiter, ACME)
    const before = store.calls.reads
    for (let count = 0; count < 5; count += 1) await Promise.all([resolve(key), resolve(NO_KEY)])
    expect(store.calls.reads - before).toBe(2)
    clock.advance(5_000)
    await resolve(key)
    expect(store.calls.reads - before).toBe(3)
  })

  it('does not ask for what cannot be a key', async () => {
    const { store, resolve } = start()
    const texts = [
      'sk_short',
      `${NO_KEY}${'x'.repeat(30)}`,
      `${'x'.repeat(42)}!`,
      "'; DROP TABLE keys",
    ]
    expect(await Promise.all(texts.map(resolve))).toEqual(texts.map(() => null))
    expect(store.calls.reads).toBe(0)
  })

  it('forgets no known key in a flood of others', async () => {
    const { store, limiter, resolve } = start()
    const { key } = await createApiKey(limiter, ACME)
    await resolve(key)
    for (let count = 0; count < 10_001; count += 1)
      await resolve(NO_KEY.slice(0, -5) + String(10_000 + count))
    const before = store.calls.reads
    await resolve(key)
    expect(store.calls.reads).toBe(before)
  })

  it('refuses a revoked or expired key within five seconds', async () => {
    const { limiter, clock, resolve } = start()
    const revoked = await createApiKey(limiter, ACME)
    const expired = await createApiKey(limiter, ACME, { expiresIn: '1m' })
    await Promise.all([revoked, expired].map(({ key }) => resolve(key)))
    await revokeApiKey(limiter, revoked.id)
    clock.advance(5_000)
    expect(await resolve(revoked.key)).toBeNull()
    clock.advance(MINUTE - 5_001)
    expect(await resolve(expired.key)).toMatchObject(ACME)
    clock.advance(1)
    expect(await resolve(expired.key)).toBeNull()
  })

  it('accepts what it has seen while the store fails, for five minutes, and answers others with 503', async () => {
    const { store, problems, limiter, clock, resolve } = start()
    const { key } = await createApiKey(limiter, ACME)
    await Promise.all([resolve(key), resolve(NO_KEY)])
    store.isDown = true
    clock.advance(5 * MINUTE - 1)
    expect(await resolve(key)).toMatchObject(ACME)
    for (const other of [NO_KEY, `sk_${'y'.repeat(43)}`]) {
      const refusal = await resolve(other)
      expect(refusal).toBeInstanceOf(Refusal)
      expect((refusal as Refusal).options).toMatchObject({ status: 503, code: 'keys_unavailable' })
    }
    clock.advance(1)
    expect(await resolve(key)).toBeInstanceOf(Refusal)
    // It decides nothing, so no mode of onStoreError is said: dollars would have another.
    const message = 'Sluice: down (docs/errors.md#store_unreachable)'
    expect(problems).toMatchObject([{ code: 'store_unreachable', message }])
    store.isDown = false
    expect(await resolve(key)).toMatchObject(ACME)
  })
})

describe('the keys of a tenant', () => {
  it('leave nothing once all are revoked', async () => {
    const { store, limiter, clock } = start()
    const { id } = await createApiKey(limiter, ACME)
    await revokeApiKey(limiter, id)
    clock.advance(MINUTE)
    const keys = ['api-keys/of/tenant=acme', `api-keys/${id}`]
    const reads = keys.flatMap((key) => ['ids', 'key', 'used'].map((field) => ({ key, field })))
    const { values } = await store.check({
      policies: [],
      entries: [],
      apply: false,
      now: clock(),
      clockIsInjected: true,
      startedAt: Date.now(),
      reads,
      id: '',
    })
    expect(values).toEqual(reads.map(() => undefined))
  })

  it('are a thousand at most; those that are gone or have expired do not count', async () => {
    const { limiter, clock } = start()
    const first = await createApiKey(limiter, ACME)
    const second = await createApiKey(limiter, ACME, { expiresIn: '1h' })
    for (let count = 2; count < 1_000; count += 1) await createApiKey(limiter, ACME)
    await expect(createApiKey(limiter, ACME)).rejects.toMatchObject({
      code: 'invalid_option',
      message: expect.stringContaining('has 1000 keys'),
    })
    expect(await listApiKeys(limiter, 'acme')).toHaveLength(1_000)
    await revokeApiKey(limiter, first.id)
    await createApiKey(limiter, ACME)
    clock.advance(60 * MINUTE)
    await createApiKey(limiter, ACME)
    const ids = (await listApiKeys(limiter, 'acme')).map(({ id }) => id)
    expect([ids.length, ids.includes(second.id)]).toEqual([1_000, false])
  })

  it.each([
    [
      'no tenant',
      (limiter) => createApiKey(limiter, { user: 'u_1' }),
      /subject\.tenant: must name whose key/,
    ],
    ['an empty tenant', (limiter) => createApiKey(limiter, { tenant: '' }), /subject\.tenant/],
    [
      'no subject',
      (limiter) => createApiKey(limiter, undefined as never),
      /subject: must be an object/,
    ],
    [
      'a number',
      (limiter) => createApiKey(limiter, { tenant: 'a', org: 5 } as never),
      /subject\.org: must be a text/,
    ],
    [
      'a key',
      (limiter) => createApiKey(limiter, { tenant: 'a', key: 'k' }),
      /subject\.key: is the name/,
    ],
    [
      'a long time',
      (limiter) => createApiKey(limiter, ACME, { expiresIn: '900d' }),
      /createApiKey\.expiresIn/,
    ],
    [
      'a prefix with a space',
      (limiter) => createApiKey(limiter, ACME, { prefix: 'a b' }),
      /createApiKey\.prefix/,
    ],
    [
      'another option',
      (limiter) => createApiKey(limiter, ACME, { ttl: 5 } as never),
      /createApiKey\.ttl/,
    ],
    [
      'the name of no key',
      (limiter) => rotateApiKey(limiter, 'key_0123456789abcdef'),
      /id: names no key/,
    ],
    ['no name', (limiter) => expireApiKey(limiter, 'acme', 0), /id: must be the name of a key/],
    [
      'an overlap of years',
      (limiter) => rotateApiKey(limiter, 'key_0123456789abcdef', { overlap: '900d' }),
      /rotateApiKey\.overlap/,
    ],
    ['no limiter', () => Promise.resolve().then(() => apiKeys({} as never)), /limiter/],
    [
      'a cookie',
      (limiter) => Promise.resolve().then(() => apiKeys(limiter, { cookie: 'x' } as never)),
      /apiKeys\.cookie/,
    ],
  ] satisfies [
    string,
    (limiter: ReturnType<typeof setUp>['limiter']) => Promise<unknown>,
    RegExp,
  ][])('are not made or changed with %s', async (_, act, message) => {
    const { store, limiter } = start()
    await expect(act(limiter)).rejects.toThrow(message)
    expect(store.calls.writes).toBe(0)
  })

  it('are not replaced once they have expired', async () => {
    const { limiter, clock } = start()
    const { id } = await createApiKey(limiter, ACME, { expiresIn: '1m' })
    clock.advance(MINUTE)
    await expect(rotateApiKey(limiter, id)).rejects.toThrow(/id: names a key that has expired/)
    expect(await listApiKeys(limiter, 'acme')).toMatchObject([{ id }])
  })

  it('forget within a minute a new key that has not replaced another, because the store has failed', async () => {
    const { store, limiter, clock } = start()
    const { key: _, ...old } = await createApiKey(limiter, ACME)
    store.meanwhile = { id: old.id, act: () => (store.isDown = true) }
    await expect(rotateApiKey(limiter, old.id)).rejects.toMatchObject({ code: 'store_unreachable' })
    store.isDown = false
    clock.advance(MINUTE)
    expect(await listApiKeys(limiter, 'acme')).toEqual([old])
  })

  it('are known when only the reply of the store is lost', async () => {
    const { store, limiter, resolve } = start()
    const old = await createApiKey(limiter, ACME)
    store.loses = old.id
    const { id, key } = await rotateApiKey(limiter, old.id)
    expect(await resolve(key)).toMatchObject({ tenant: 'acme', key: id })
    expect(await listApiKeys(limiter, 'acme')).toMatchObject([
      { id: old.id, replacedBy: id },
      { id },
    ])
  })

  it('end at once where no overlap is wanted', async () => {
    const { limiter, resolve } = start()
    const old = await createApiKey(limiter, ACME)
    const { key } = await rotateApiKey(limiter, old.id, { overlap: 0 })
    expect(await resolve(old.key)).toBeNull()
    expect(await resolve(key)).toMatchObject({ tenant: 'acme' })
  })

  it('fail loudly where the store does', async () => {
    const { store, limiter } = start()
    const { id } = await createApiKey(limiter, ACME)
    store.isDown = true
    const acts = [
      () => createApiKey(limiter, ACME),
      () => listApiKeys(limiter, 'acme'),
      () => rotateApiKey(limiter, id),
      () => expireApiKey(limiter, id, 0),
      () => revokeApiKey(limiter, id),
    ]
    for (const act of acts) await expect(act()).rejects.toMatchObject({ code: 'store_unreachable' })
  })
})
