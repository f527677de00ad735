/* Records of keys that no version of ours writes: a request with such a key could not be counted. */
import type { Store } from '@sluice/core'
import { apiKeys, createApiKey, listApiKeys, readApiKey, rotateApiKey } from '@sluice/core/api-keys'
import { rateLimit } from '@sluice/core/http'
import { memory } from '@sluice/core/memory'
import { describe, expect, it } from 'vitest'
import { keyVerifier } from '../../../apps/worker/src/keys.ts'
import { setUp } from '../../support/limiters.ts'
import { Watched } from '../../support/watched-store.ts'
import { RPM, sent } from './support.ts'

type Stored = Readonly<Record<string, unknown>>

/** A store that answers with another record of a key. */
class Altered extends Watched {
  alter: ((stored: Stored) => unknown) | undefined

  override async check(...[request]: Parameters<Store['check']>): ReturnType<Store['check']> {
    const reply = await super.check(request)
    const { alter } = this
    if (!alter) return reply
    const values = reply.values.map((value, at) => {
      if (request.reads?.[at]?.field !== 'key' || value === undefined) return value
      const altered = alter(JSON.parse(value) as Stored)
      return typeof altered === 'string' ? altered : JSON.stringify(altered)
    })
    return { ...reply, values }
  }
}

const withSubject =
  (subject: unknown) =>
  (stored: Stored): unknown => ({ ...stored, subject })

const MALFORMED: readonly (readonly [what: string, alter: (stored: Stored) => unknown])[] = [
  ['no tenant', withSubject({ plan: 'growth' })],
  ['no dimension', withSubject({})],
  ['no subject', ({ hash, createdAt }) => ({ hash, createdAt })],
  ['a subject of null', withSubject(null)],
  ['a list as its subject', withSubject(['acme'])],
  ['a text as its subject', withSubject('acme')],
  ['an empty tenant', withSubject({ tenant: '' })],
  ['a number as its tenant', withSubject({ tenant: 7 })],
  ['a tenant of null', withSubject({ tenant: null })],
  ['a list as its tenant', withSubject({ tenant: ['acme'] })],
  ['half a character in its tenant', withSubject({ tenant: 'acme\uD800' })],
  ['an empty user', withSubject({ tenant: 'acme', user: '' })],
  ['an object as its user', withSubject({ tenant: 'acme', user: {} })],
  ['half a character in its user', withSubject({ tenant: 'acme', user: '\uDC00' })],
  ['a plan of null', withSubject({ tenant: 'acme', plan: null })],
  ['no hash', (stored) => ({ ...stored, hash: undefined })],
  ['no time', (stored) => ({ ...stored, createdAt: undefined })],
  ['a text as its end', (stored) => ({ ...stored, expiresAt: 'never' })],
  ['an end of null', (stored) => ({ ...stored, expiresAt: null })],
  [
    'no end at all',
    (stored) => JSON.stringify({ ...stored, expiresAt: 7 }).replace('7}', '1e999}'),
  ],
  ['a text as its lifetime', (stored) => ({ ...stored, lifetimeMs: 'long' })],
  ['a number as its successor', (stored) => ({ ...stored, replacedBy: 5 })],
  ['null', () => null],
  ['a list', (stored) => [stored]],
  ['a number', () => 7],
  ['a text', () => '"acme"'],
  ['a text that is no JSON', () => '{"hash":'],
  ['an empty text', () => ''],
]

describe.each(MALFORMED)('a record of a key with %s', (_, alter) => {
  async function start() {
    const store = new Altered(memory())
    const { limiter } = setUp([RPM], { store })
    const made = await createApiKey(limiter, { tenant: 'acme', plan: 'growth' })
    store.alter = alter
    return { limiter, ...made }
  }

  it('is 401 in an adapter and in the gateway, and shows nothing of the key', async () => {
    const { limiter, key, id } = await start()
    const handler = rateLimit(limiter, { routes: ['/api'], subject: apiKeys(limiter) }, () => {
      throw new Error('The handler is not reached')
    })
    const answer = await handler(sent(key))
    const text = (await answer.text()) + JSON.stringify([...answer.headers])
    expect(answer.status).toBe(401)
    for (const secret of [key, id, 'acme', 'growth']) expect(text).not.toContain(secret)
    const verify = keyVerifier(limiter)
    expect(await verify(sent(key))).toMatchObject({ options: { status: 401 } })
  })

  it('is no key for who lists, reads or replaces keys', async () => {
    const { limiter, id } = await start()
    expect(await listApiKeys(limiter, 'acme')).toEqual([])
    expect(await readApiKey(limiter, id)).toBeUndefined()
    await expect(rotateApiKey(limiter, id)).rejects.toThrow('names no key, or one that was revoked')
  })
})
