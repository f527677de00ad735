import { mkdtempSync, rmSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { SubjectResolver } from '@sluice/core/http'
import type { JWTPayload } from 'jose'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { newKey, startKeyServer, type Key, type KeyServer } from '../core/identity/key-server.ts'
import { guarded } from '../core/identity/support.ts'
import { importBlock } from '../support/docs-block.ts'

// Inside the workspace, so that the packages are found as a user's would be.
const folder = mkdtempSync(fileURLToPath(new URL('auth-', import.meta.url)))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

interface ApiKeys {
  readonly keys: Map<string, { id: string }>
  readonly byApiKey: SubjectResolver
  readonly createKey: (tenant: string, plan: string) => Promise<string>
}

describe('the recipe for API keys', () => {
  it('finds the tenant of a key, of which it keeps only the hash', async () => {
    const { keys, byApiKey, createKey } = await importBlock<ApiKeys>(
      folder,
      'recipes/api-keys.md',
      'keys.ts',
    )
    const key = await createKey('acme', 'growth')
    const other = await createKey('acme', 'growth')
    expect(JSON.stringify([...keys])).not.toContain(key.slice(3))
    const request = new Request('https://app.example/', {
      headers: { authorization: `Bearer ${key}` },
    })
    const id = [...keys.values()][0]?.id ?? ''
    expect(await byApiKey(request)).toEqual({ tenant: 'acme', plan: 'growth', key: id })

    const { ask, charged } = guarded(byApiKey)
    const statusOf = async (credential: string) =>
      (await ask({ authorization: `Bearer ${credential}` })).status
    expect(await statusOf(key)).toBe(200)
    expect(await statusOf(`${key.slice(0, -1)}-`)).toBe(401)
    for (const [hash, record] of keys) if (record.id === id) keys.delete(hash)
    expect([await statusOf(key), await statusOf(other)]).toEqual([401, 200])
    expect(await charged()).toBe(2)
  })
})

const now = () => Math.floor(Date.now() / 1_000)

interface Provider {
  readonly file: string
  readonly resolver: string
  /** The issuer that the page writes, and the path below it that has the keys. */
  readonly issuer: string
  readonly keys: string
  readonly alg: 'RS256' | 'ES256' | 'EdDSA'
  readonly subject: object
  /** The claims of a token as the provider's documentation shows them. */
  readonly claims: (issuer: string) => JWTPayload
  /** Claims that other users of the same provider may have. */
  readonly refused: Readonly<Record<string, JWTPayload>>
}

const PROVIDERS: readonly Provider[] = [
  {
    file: 'clerk.ts',
    resolver: 'tenantFromClerk',
    issuer: 'https://your-app.clerk.accounts.dev',
    keys: '/.well-known/jwks.json',
    alg: 'RS256',
    subject: { tenant: 'org_2abc', user: 'user_2xyz' },
    claims: (iss) => ({
      azp: 'https://your-app.example',
      exp: now() + 60,
      fva: [7, -1],
      iat: now(),
      iss,
      jti: 'd4f7',
      nbf: now() - 10,
      o: { id: 'org_2abc', slg: 'acme', rol: 'admin', per: 'read,manage', fpm: '3' },
      sid: 'sess_123',
      sub: 'user_2xyz',
      v: 2,
    }),
    refused: {
      'no active organization': { o: undefined },
      'an organization without an id': { o: { slg: 'acme' } },
      'a text for an organization': { o: 'org_2abc' },
    },
  },
  {
    file: 'supabase.ts',
    resolver: 'tenantFromSupabase',
    issuer: 'https://your-project.supabase.co/auth/v1',
    keys: '/.well-known/jwks.json',
    alg: 'ES256',
    subject: { tenant: 'acme', user: '0a1b2c3d-0000-4000-8000-000000000001' },
    claims: (iss) => ({
      aal: 'aal1',
      amr: [{ method: 'password', timestamp: now() }],
      app_metadata: { provider: 'email', providers: ['email'], tenant: 'acme' },
      aud: 'authenticated',
      email: 'user@app.example',
      exp: now() + 3_600,
      iat: now(),
      is_anonymous: false,
      iss,
      phone: '',
      role: 'authenticated',
      session_id: '7f1c',
      sub: '0a1b2c3d-0000-4000-8000-000000000001',
      user_metadata: {},
    }),
    refused: {
      'a tenant that the user wrote': {
        app_metadata: { provider: 'email' },
        user_metadata: { tenant: 'acme' },
      },
      'another audience': { aud: 'anon' },
      'no metadata': { app_metadata: null },
    },
  },
  {
    file: 'better-auth.ts',
    resolver: 'tenantFromBetterAuth',
    issuer: 'https://auth.your-app.example',
    keys: '/api/auth/jwks',
    alg: 'EdDSA',
    subject: { tenant: 'acme', user: 'u_17' },
    claims: (iss) => ({
      iat: now(),
      id: 'u_17',
      tenant: 'acme',
      sub: 'u_17',
      exp: now() + 900,
      iss,
      aud: iss,
    }),
    refused: {
      'no tenant': { tenant: undefined },
      'another service as its audience': { aud: 'https://other.your-app.example' },
    },
  },
]

describe.each(PROVIDERS)('the resolver of $file', (provider) => {
  let key: Key
  let server: KeyServer
  let subject: SubjectResolver
  let issuer: string

  beforeAll(async () => {
    const { alg, file, resolver } = provider
    key = await newKey(alg, 'k1')
    server = await startKeyServer([key.jwk])
    issuer = new URL(server.url).origin
    const page = 'recipes/auth-providers.md'
    const replacements = { [provider.issuer]: issuer }
    const block = await importBlock<Record<string, SubjectResolver>>(
      folder,
      page,
      file,
      replacements,
    )
    subject = block[resolver] as SubjectResolver
  })
  afterAll(() => server[Symbol.asyncDispose]())

  const statusOf = async (token: string) =>
    (await guarded(subject).ask({ authorization: `Bearer ${token}` })).status

  it('accepts a token of that shape', async () => {
    const token = await key.sign(provider.claims(issuer))
    const headers = { authorization: `Bearer ${token}` }
    const request = new Request('https://app.example/', { headers })
    expect(await subject(request)).toEqual(provider.subject)
    expect(await statusOf(token)).toBe(200)
    expect(server.paths).toEqual([provider.keys])
  })

  it.each(Object.entries(provider.refused))('refuses one with %s', async (_, other) => {
    expect(await statusOf(await key.sign({ ...provider.claims(issuer), ...other }))).toBe(401)
  })

  it('refuses another issuer, an old token, another key and no signature', async () => {
    const claims = provider.claims(issuer)
    const stranger = await newKey(provider.alg, 'k1')
    const [, payload = ''] = (await key.sign(claims)).split('.')
    const none = Buffer.from('{"alg":"none"}').toString('base64url')
    const tokens = [
      await key.sign({ ...claims, iss: `${issuer}/other` }),
      await key.sign({ ...claims, exp: now() - 60 }),
      await stranger.sign(claims),
      `${none}.${payload}.`,
    ]
    for (const token of tokens) expect(await statusOf(token)).toBe(401)
  })
})
