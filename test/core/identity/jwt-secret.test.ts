import { CompactEncrypt, SignJWT, UnsecuredJWT } from 'jose'
import { jwtSubject } from '@sluice/core/jwt'
import { describe, expect, it } from 'vitest'
import { guarded, NOW, NOW_SECONDS, textOf } from './support.ts'

const SECRET = 'a secret of at least thirty-two characters'
const bytes = new TextEncoder().encode(SECRET)
const base64 = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')

const subject = jwtSubject({
  secret: SECRET,
  algorithms: ['HS256'],
  issuer: 'https://issuer.example/',
  audience: 'https://api.example',
  claims: { tenant: 'org', user: 'sub', plan: 'plan' },
  clock: () => NOW,
})
const CLAIMS = {
  iss: 'https://issuer.example/',
  aud: 'https://api.example',
  exp: NOW_SECONDS + 300,
  org: 'acme',
  sub: 'u1',
  plan: 'growth',
}

const PAYLOAD = JSON.stringify(CLAIMS)

const signed = (claims: object, header: object = {}, secret = bytes) =>
  new SignJWT({ ...CLAIMS, ...claims }).setProtectedHeader({ alg: 'HS256', ...header }).sign(secret)

/** The claims as they are, signed by hand: what no library would sign. */
async function signedRaw(payload: string, header = base64({ alg: 'HS256' })): Promise<string> {
  const algorithm = { name: 'HMAC', hash: 'SHA-256' }
  const key = await crypto.subtle.importKey('raw', bytes, algorithm, false, ['sign'])
  const data = `${header}.${Buffer.from(payload).toString('base64url')}`
  const mac = await crypto.subtle.sign('HMAC', key, new TextEncoder().encode(data))
  return `${data}.${Buffer.from(mac).toString('base64url')}`
}

const resolved = (jwt: string) =>
  subject(new Request('https://app.example/', { headers: { authorization: `Bearer ${jwt}` } }))

describe('a valid JWT', () => {
  it('becomes the subject that its claims name', async () => {
    expect(await resolved(await signed({}))).toEqual({
      tenant: 'acme',
      user: 'u1',
      plan: 'growth',
    })
  })

  it.each([
    ['for several audiences', { aud: ['https://other.example', 'https://api.example'] }],
    ['just over, within the tolerance of clocks', { exp: NOW_SECONDS - 4 }],
    ['about to begin, within the tolerance of clocks', { nbf: NOW_SECONDS + 4 }],
    ['with a __proto__ of its own', JSON.parse('{"__proto__":{"org":"rival"}}')],
  ])('may be %s', async (_, claims) => {
    expect(await resolved(await signed(claims))).toMatchObject({ tenant: 'acme' })
  })

  it('may stand in a header of its own, without Bearer', async () => {
    const options = { secret: SECRET, algorithms: ['HS256'], claims: { tenant: 'org' } }
    const own = jwtSubject({ ...options, header: 'X-Session', clock: () => NOW })
    const headers = { 'x-session': await signed({}) }
    expect(await own(new Request('https://app.example/', { headers }))).toEqual({ tenant: 'acme' })
  })
})

const BAD: Record<string, () => string | Promise<string>> = {
  'no JWT': () => '',
  'not one at all': () => 'a.b.c',
  'two parts': async () => (await signed({})).split('.').slice(0, 2).join('.'),
  'alg none': () => new UnsecuredJWT(CLAIMS).encode(),
  'alg NONE': () => `${base64({ alg: 'NONE' })}.${base64(CLAIMS)}.`,
  'alg none with a signature': async () => {
    const [, payload, signature] = (await signed({})).split('.')
    return `${base64({ alg: 'none' })}.${payload}.${signature}`
  },
  'no alg': async () => signedRaw(PAYLOAD, base64({})),
  'alg as a list': async () => signedRaw(PAYLOAD, base64({ alg: ['HS256'] })),
  'an HMAC that is not listed': async () =>
    signed({}, { alg: 'HS512' }, Buffer.from(SECRET.padEnd(64, '!'))),
  'another secret': () => signed({}, {}, Buffer.from(SECRET.toUpperCase())),
  'no signature': async () => (await signed({})).replace(/[^.]*$/, ''),
  'a changed payload': async () => {
    const [header, , signature] = (await signed({})).split('.')
    return `${header}.${base64({ ...CLAIMS, org: 'rival' })}.${signature}`
  },
  'no exp': () => signed({ exp: undefined }),
  'exp null': () => signed({ exp: null }),
  'exp as text': () => signedRaw(JSON.stringify({ ...CLAIMS, exp: String(CLAIMS.exp) })),
  'exp with a fraction': () => signed({ exp: NOW_SECONDS + 0.5 }),
  'exp 1e300': () => signed({ exp: 1e300 }),
  'exp beyond any number': () => signedRaw(PAYLOAD.replace(/"exp":\d+/, '"exp":1e999')),
  'exp below zero': () => signed({ exp: -1 }),
  'exp over': () => signed({ exp: NOW_SECONDS - 6 }),
  'exp a year ahead': () => signed({ exp: NOW_SECONDS + 365 * 86_400 }),
  'nbf ahead': () => signed({ nbf: NOW_SECONDS + 60 }),
  'nbf as text': () => signedRaw(JSON.stringify({ ...CLAIMS, nbf: '0' })),
  'another issuer': () => signed({ iss: 'https://issuer.example' }),
  'no issuer': () => signed({ iss: undefined }),
  'another audience': () => signed({ aud: 'https://api.example.evil' }),
  'no audience': () => signed({ aud: undefined }),
  'no audience in the list': () => signed({ aud: [] }),
  'the audience inside a list': () => signedRaw(JSON.stringify({ ...CLAIMS, aud: [[CLAIMS.aud]] })),
  'a tenant that is a number': () => signed({ org: 7 }),
  'a tenant that is an object': () => signed({ org: { toString: 'acme' } }),
  'a tenant that is a list': () => signed({ org: ['acme'] }),
  'a tenant that is empty': () => signed({ org: '' }),
  'a tenant that is null': () => signed({ org: null }),
  'no plan': () => signed({ plan: undefined }),
  'claims only in __proto__': () =>
    signedRaw(`{"__proto__":${JSON.stringify(CLAIMS)},"exp":${CLAIMS.exp}}`),
  'a payload that is a list': () => signedRaw(JSON.stringify([CLAIMS])),
  'a payload that is no JSON': () => signedRaw('{'),
  'crit that nobody knows': () => signedRaw(PAYLOAD, base64({ alg: 'HS256', crit: ['x'], x: 1 })),
  'crit that is empty': () => signedRaw(PAYLOAD, base64({ alg: 'HS256', crit: [] })),
  'b64 false': () => signedRaw(PAYLOAD, base64({ alg: 'HS256', crit: ['b64'], b64: false })),
  'a JWE': () =>
    new CompactEncrypt(Buffer.from(JSON.stringify(CLAIMS)))
      .setProtectedHeader({ alg: 'dir', enc: 'A256GCM' })
      .encrypt(bytes.slice(0, 32)),
  '8 KB of claims': () => signed({ padding: 'x'.repeat(8_192) }),
  'a megabyte of it': async () => `${await signed({})}${'x'.repeat(1_048_576)}`,
  'a megabyte of dots': () => '.'.repeat(1_048_576),
}

describe('an invalid JWT', () => {
  it.each(Object.keys(BAD))('%s gets 401, charges nothing and reveals nothing', async (name) => {
    const jwt = await BAD[name]?.()
    const { ask, charged } = guarded(subject)
    const answer = await textOf(await ask({ authorization: `Bearer ${jwt}` }))
    expect(answer).toMatch(/^\[401,/)
    // Word for word what one who sends nothing is told.
    expect(answer).toBe(await textOf(await ask()))
    expect(await charged()).toBe(0)
  })

  it.each(['', 'Bearer', 'Bearer ', 'Basic YTpi', 'bearer', 'Bearer a b', 'Token x'])(
    'Authorization: %j is not a JWT',
    async (authorization) => {
      expect((await guarded(subject).ask({ authorization })).status).toBe(401)
    },
  )
})
