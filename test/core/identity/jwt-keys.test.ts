import { createHmac } from 'node:crypto'
import { exportSPKI, generateKeyPair, exportJWK, SignJWT } from 'jose'
import { jwtSubject } from '@sluice/core/jwt'
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { guarded, NOW, NOW_SECONDS, textOf } from './support.ts'
import { json, newKey, startKeyServer, text, type Key, type KeyServer } from './key-server.ts'

const CLAIMS = { tenant: 'acme', exp: NOW_SECONDS + 300 }
const base64 = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')

let rsa: Key
let ec: Key
let server: KeyServer

beforeAll(async () => {
  rsa = await newKey('RS256', 'rsa')
  ec = await newKey('ES256', 'ec')
})
beforeEach(async () => {
  server = await startKeyServer([rsa.jwk, ec.jwk])
})
afterEach(() => server[Symbol.asyncDispose]())

let now = NOW

/** An app that trusts the server's keys. */
function app(jwksTimeoutMs = 10_000) {
  const { ask, charged } = guarded(
    jwtSubject({
      jwksUrl: server.url,
      algorithms: ['RS256', 'ES256'],
      jwksTimeoutMs,
      clock: () => now,
    }),
  )
  return { ask: (jwt: string) => ask({ authorization: `Bearer ${jwt}` }), charged }
}

describe('a JWT signed by a published key', () => {
  it('is accepted, and the keys are fetched once', async () => {
    const { ask, charged } = app()
    expect((await ask(await rsa.sign(CLAIMS))).status).toBe(200)
    expect((await ask(await ec.sign(CLAIMS))).status).toBe(200)
    expect(await charged()).toBe(2)
    expect(server.requests).toBe(1)
  })
})

const FORGED: Record<string, () => string | Promise<string>> = {
  'the public key as the secret of an HMAC': async () => {
    const data = `${base64({ alg: 'HS256', kid: 'rsa' })}.${base64(CLAIMS)}`
    const secret = await exportSPKI(rsa.publicKey)
    return `${data}.${createHmac('sha256', secret).update(data).digest('base64url')}`
  },
  'the modulus as the secret of an HMAC': () => {
    const data = `${base64({ alg: 'HS256', kid: 'rsa' })}.${base64(CLAIMS)}`
    const secret = Buffer.from(rsa.jwk.n ?? '', 'base64url')
    return `${data}.${createHmac('sha256', secret).update(data).digest('base64url')}`
  },
  'a key of its own in jwk': async () => {
    const own = await newKey('RS256', 'rsa')
    return own.sign(CLAIMS, { jwk: own.jwk })
  },
  'a key server of its own in jku': async () => {
    const own = await newKey('RS256', 'own')
    return own.sign(CLAIMS, { jku: server.url, x5u: server.url })
  },
  'a certificate of its own in x5c': async () => {
    const own = await newKey('RS256', 'rsa')
    return own.sign(CLAIMS, { x5c: [base64(own.jwk)], x5t: 'x' })
  },
  'an unknown kid': () => rsa.sign(CLAIMS, { kid: 'unknown' }),
  'a kid of another kind of key': () => rsa.sign(CLAIMS, { kid: 'ec' }),
  'a kid that is a path': () => rsa.sign(CLAIMS, { kid: '../../etc/passwd' }),
  'a kid of __proto__': () => rsa.sign(CLAIMS, { kid: '__proto__' }),
  'a kid that is no text': () => {
    const header = base64({ alg: 'RS256', kid: { $ne: null } })
    return `${header}.${base64(CLAIMS)}.${'A'.repeat(342)}`
  },
  'an algorithm that is not listed': async () =>
    new SignJWT(CLAIMS)
      .setProtectedHeader({ alg: 'PS256', kid: 'rsa' })
      .sign((await generateKeyPair('PS256')).privateKey),
  'alg none': () => `${base64({ alg: 'none', kid: 'rsa' })}.${base64(CLAIMS)}.`,
  'a signature of nothing (ES256, r = s = 0)': () =>
    `${base64({ alg: 'ES256', kid: 'ec' })}.${base64(CLAIMS)}.${'A'.repeat(86)}`,
}

describe('a JWT with', () => {
  it.each(Object.keys(FORGED))('%s gets 401, charges nothing and reveals nothing', async (name) => {
    const jwt = (await FORGED[name]?.()) ?? ''
    const { ask, charged } = app()
    const answer = await textOf(await ask(jwt))
    expect(answer).toMatch(/^\[401,/)
    expect(answer).toBe(await textOf(await ask('')))
    expect(await charged()).toBe(0)
    // Nothing in a JWT makes us ask anyone but the server that we know.
    expect(server.requests).toBeLessThanOrEqual(1)
  })
})

describe('a key server that', () => {
  const down = { error: 'identity_unavailable' }

  it.each<[string, Parameters<typeof text>]>([
    ['answers HTML', [200, '<html>Sign in</html>']],
    ['answers nothing', [200, '']],
    ['answers null', [200, 'null']],
    ['answers something else', [200, '{"keys":"none"}']],
    ['answers what is no key', [200, '{"keys":[7]}']],
    ['fails', [500, '{"keys":[]}']],
    ['redirects', [302, '']],
    ['answers two megabytes', [200, JSON.stringify({ keys: [], x: 'x'.repeat(2_097_152) })]],
  ])('%s: 503 with a retry time, nothing charged or revealed', async (_, answer) => {
    server.answer = text(...answer)
    const jwt = await rsa.sign(CLAIMS)
    const { ask, charged } = app()
    const response = await ask(jwt)
    expect(response.status).toBe(503)
    expect(response.headers.get('retry-after')).toBe('1')
    const body = await response.text()
    expect(JSON.parse(body)).toMatchObject(down)
    expect(body).not.toMatch(/127\.0\.0\.1|jwks|acme|eyJ/)
    expect(await charged()).toBe(0)
  })

  it('has no keys at all: 401', async () => {
    server.answer = json({ keys: [] })
    expect((await app().ask(await rsa.sign(CLAIMS))).status).toBe(401)
  })

  it('publishes hundreds of keys: the right one is found', async () => {
    const others = Array.from({ length: 500 }, (_, index) => ({ ...rsa.jwk, kid: `k${index}` }))
    server.answer = json({ keys: [...others, rsa.jwk] })
    expect((await app().ask(await rsa.sign(CLAIMS))).status).toBe(200)
  })

  it('publishes two keys of one kid: 401, as either may be meant', async () => {
    const other = await newKey('RS256', 'rsa')
    server.answer = json({ keys: [other.jwk, rsa.jwk] })
    expect((await app().ask(await rsa.sign(CLAIMS))).status).toBe(401)
  })

  it('publishes a private or a symmetric key: it is never used', async () => {
    const { privateKey } = await generateKeyPair('RS256', { extractable: true })
    const jwk = { ...(await exportJWK(privateKey)), kid: 'leak', alg: 'RS256' }
    const oct = { kty: 'oct', kid: 'rsa', k: base64('x'.repeat(32)), alg: 'HS256' }
    server.answer = json({ keys: [jwk, oct] })
    const { ask, charged } = app()
    const header = { alg: 'RS256', kid: 'leak' }
    const jwt = await new SignJWT(CLAIMS).setProtectedHeader(header).sign(privateKey)
    expect((await ask(jwt)).status).toBe(503)
    const data = `${base64({ alg: 'HS256', kid: 'rsa' })}.${base64(CLAIMS)}`
    const mac = createHmac('sha256', Buffer.from(oct.k, 'base64url')).update(data)
    expect((await ask(`${data}.${mac.digest('base64url')}`)).status).toBe(401)
    expect(await charged()).toBe(0)
  })

  it('is down: 503', async () => {
    const { ask } = app()
    const jwt = await rsa.sign(CLAIMS)
    await server[Symbol.asyncDispose]()
    expect((await ask(jwt)).status).toBe(503)
    server = await startKeyServer([])
  })

  it.each<[string, KeyServer['answer']]>([
    ['never answers', () => {}],
    ['never finishes', (response) => void response.write('{"keys":[')],
  ])('%s: 503 within a bound of the timeout', async (_, answer) => {
    server.answer = answer
    const { ask, charged } = app(200)
    const jwt = await rsa.sign(CLAIMS)
    const start = performance.now()
    expect((await ask(jwt)).status).toBe(503)
    // Generous, for a machine that is busy; without a bound it would be minutes.
    expect(performance.now() - start).toBeLessThan(5_000)
    expect(await charged()).toBe(0)
  })
})

describe('a flood', () => {
  it('of unknown kids makes one fetch of the keys', async () => {
    const { ask, charged } = app()
    const flood = await Promise.all(
      Array.from({ length: 50 }, (_, index) => rsa.sign(CLAIMS, { kid: `unknown-${index}` })),
    )
    const answers = []
    for (const jwt of flood.slice(0, 25)) answers.push(await ask(jwt))
    answers.push(...(await Promise.all(flood.slice(25).map(ask))))
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([401]))
    expect(await charged()).toBe(0)
    expect(server.requests).toBe(1)
  })

  it('while the key server is down asks it once a second, and again when it is back', async () => {
    server.answer = text(500, '')
    const { ask } = app()
    const jwt = await rsa.sign(CLAIMS)
    for (let time = 0; time < 25; time += 1) expect((await ask(jwt)).status).toBe(503)
    expect(server.requests).toBe(1)
    server.answer = json({ keys: [rsa.jwk] })
    now += 999
    expect((await ask(jwt)).status).toBe(503)
    now += 1
    expect((await ask(jwt)).status).toBe(200)
    expect(server.requests).toBe(2)
    now = NOW
  })

  it('of JWTs that are too long or unsigned makes no fetch', async () => {
    const { ask } = app()
    await ask('x'.repeat(100_000))
    await ask(`${base64({ alg: 'none' })}.${base64(CLAIMS)}.`)
    await ask(`${base64({ alg: 'HS256' })}.${base64(CLAIMS)}.AAAA`)
    expect(server.requests).toBe(0)
  })
})
