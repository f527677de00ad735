import {
  apiKeys,
  createApiKey,
  expireApiKey,
  listApiKeys,
  readApiKey,
  revokeApiKey,
  rotateApiKey,
} from '@sluice/core/api-keys'
import { describe, expect, it } from 'vitest'
import { setUp } from '../../support/limiters.ts'
import { storesOf, STORES_TO_TEST } from '../../support/stores.ts'
import { DAY, HOUR, NOON } from '../../support/times.ts'
import { Interrupted, RPM, sent } from './support.ts'

const ACME = { tenant: 'acme corp:/=%', plan: 'growth', team: undefined }
const OWNER = { tenant: ACME.tenant, plan: 'growth' }

describe.each(STORES_TO_TEST)('API keys, over %s', (name) => {
  const make = storesOf(name)
  const start = () => {
    const store = new Interrupted(make())
    const { limiter, clock } = setUp([RPM], { store })
    // Each a new isolate, which has seen nothing.
    const resolve = (key: string) => apiKeys(limiter)(sent(key))
    const listed = async () => (await listApiKeys(limiter, ACME.tenant)).map(({ id }) => id)
    return { store, limiter, clock, resolve, listed }
  }

  it('resolve requests to the subject that they were made for', async () => {
    const { limiter, resolve } = start()
    const { key, ...facts } = await createApiKey(limiter, ACME)
    expect(key).toMatch(/^sk_[\w-]{43}$/)
    expect(facts).toEqual({
      id: expect.stringMatching(/^key_[0-9a-f]{16}$/),
      subject: OWNER,
      createdAt: NOON,
    })
    expect(await resolve(key)).toEqual({ ...OWNER, key: facts.id })
    const another = key.slice(0, -1) + (key.endsWith('A') ? 'E' : 'A')
    expect(await Promise.all([another, 'sk_short', key.slice(3)].map(resolve))).toEqual([
      null,
      null,
      null,
    ])
    const other = await createApiKey(limiter, { tenant: 'other' }, { prefix: 'live-' })
    expect(other.key).toMatch(/^live-[\w-]{43}$/)
    const used = { ...facts, lastUsedAt: NOON }
    expect(await listApiKeys(limiter, ACME.tenant)).toEqual([used])
    expect(await readApiKey(limiter, facts.id)).toEqual(used)
    expect(await listApiKeys(limiter, 'nobody')).toEqual([])
  })

  it('expire, are replaced, and are revoked', async () => {
    const { limiter, clock, resolve, listed } = start()
    const first = await createApiKey(limiter, ACME, { expiresIn: '30d' })
    const second = await rotateApiKey(limiter, first.id, { overlap: '1h', prefix: 'new_' })
    expect(second.key).toMatch(/^new_/)
    // As long as the first was made for.
    expect(second).toMatchObject({ subject: OWNER, expiresAt: NOON + 30 * DAY })
    const third = await rotateApiKey(limiter, second.id, { overlap: '90d', expiresIn: '60d' })
    expect(third).toMatchObject({ expiresAt: NOON + 60 * DAY, lifetimeMs: 60 * DAY })
    await revokeApiKey(limiter, third.id)
    expect(await resolve(first.key)).toMatchObject({ key: first.id })
    clock.advance(HOUR)
    expect(await resolve(first.key)).toBeNull()
    expect(await resolve(second.key)).toMatchObject({ key: second.id })
    // Sooner stays sooner.
    expect(await expireApiKey(limiter, first.id, '1d')).toMatchObject({ expiresAt: NOON + HOUR })
    expect(
      (await listApiKeys(limiter, ACME.tenant)).map(({ id, expiresAt }) => [id, expiresAt]),
    ).toEqual([
      [first.id, NOON + HOUR],
      [second.id, NOON + 30 * DAY],
    ])
    expect(await expireApiKey(limiter, second.id, 0)).toMatchObject({ expiresAt: NOON + HOUR })
    expect(await resolve(second.key)).toBeNull()
    expect(await revokeApiKey(limiter, first.id)).toBe(true)
    expect(await revokeApiKey(limiter, first.id)).toBe(false)
    expect(await readApiKey(limiter, first.id)).toBeUndefined()
    expect(await listed()).toEqual([second.id])
  })

  it.each([
    ['is valid for good', {}],
    ['expires before the overlap ends', { expiresIn: '1h' }],
  ] as const)('are replaced once, though several rotate one that %s', async (_, options) => {
    const { limiter, clock, resolve, listed } = start()
    const old = await createApiKey(limiter, ACME, options)
    const rotate = () => rotateApiKey(limiter, old.id, { expiresIn: '30d' })
    const results = await Promise.allSettled([rotate(), rotate(), rotate()])
    const [made, ...others] = results.flatMap((result) =>
      result.status === 'fulfilled' ? [result.value] : [],
    )
    expect(others).toEqual([])
    expect(await listed()).toEqual([old.id, made?.id])
    expect(await readApiKey(limiter, old.id)).toMatchObject({ replacedBy: made?.id })
    const refused = `names a key that was rotated: rotate ${made?.id}, which has replaced it`
    await expect(rotate()).rejects.toThrow(refused)
    for (const result of results.filter(({ status }) => status === 'rejected')) {
      expect(result).toMatchObject({ reason: { message: expect.stringContaining(refused) } })
    }
    // It is not forgotten as one that has replaced nothing.
    clock.advance(2 * DAY)
    expect(await resolve(made?.key ?? '')).toMatchObject({ key: made?.id })
  })

  it('are not replaced when they are revoked or rotated at the last moment', async () => {
    const { store, limiter, listed } = start()
    const { id } = await createApiKey(limiter, ACME)
    let other = { id: '' }
    const act = async () => (other = await rotateApiKey(limiter, id))
    store.meanwhile = { id, act }
    await expect(rotateApiKey(limiter, id)).rejects.toThrow(/id: names a key that was rotated/)
    expect(await listed()).toEqual([id, other.id])
    store.meanwhile = { id: other.id, act: () => revokeApiKey(limiter, other.id) }
    await expect(rotateApiKey(limiter, other.id)).rejects.toThrow(/id: names no key/)
    expect(await listed()).toEqual([id])
  })

  it('are replaced although they are made to expire at the last moment, at the earlier time', async () => {
    const { store, limiter, listed } = start()
    const { id } = await createApiKey(limiter, ACME)
    store.meanwhile = { id, act: () => expireApiKey(limiter, id, '1h') }
    const made = await rotateApiKey(limiter, id)
    const old = { expiresAt: NOON + HOUR, replacedBy: made.id }
    expect(await readApiKey(limiter, id)).toMatchObject(old)
    expect(await listed()).toEqual([id, made.id])
  })

  it('are all listed, though they are made at once', async () => {
    const { limiter, listed } = start()
    const made = await Promise.all(Array.from({ length: 8 }, () => createApiKey(limiter, ACME)))
    expect((await listed()).toSorted()).toEqual(made.map(({ id }) => id).toSorted())
  })

  it('note their last use once an hour, and not after they are revoked', async () => {
    const { limiter, clock, resolve } = start()
    const { id, key } = await createApiKey(limiter, ACME, { expiresIn: '2d' })
    const lastUse = async () => (await readApiKey(limiter, id))?.lastUsedAt
    expect(await lastUse()).toBeUndefined()
    await resolve(key)
    clock.advance(HOUR - 1)
    await resolve(key)
    expect(await lastUse()).toBe(NOON)
    clock.advance(1)
    await resolve(key)
    expect(await lastUse()).toBe(NOON + HOUR)
    clock.advance(DAY)
    await Promise.all([resolve(key), revokeApiKey(limiter, id)])
    expect(await lastUse()).toBeUndefined()
    clock.advance(5_000)
    expect(await resolve(key)).toBeNull()
  })
})
