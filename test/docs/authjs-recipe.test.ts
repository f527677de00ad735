import { hkdfSync, randomUUID } from 'node:crypto'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { SubjectResolver } from '@sluice/core/http'
import { jwtSubject } from '@sluice/core/jwt'
import { decodeJwt, EncryptJWT } from 'jose'
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest'
import { guarded } from '../core/identity/support.ts'
import { importBlock } from '../support/docs-block.ts'

const AUTH_SECRET = 'the secret of Auth.js, which has thirty-two characters or more'
const JWT_SECRET = 'the secret of the API, which has thirty-two characters or more'
const COOKIE = '__Secure-authjs.session-token'
const PAGE = 'recipes/auth-providers.md'

const folder = mkdtempSync(fileURLToPath(new URL('authjs-', import.meta.url)))
let tenantFromSession: SubjectResolver
let exchange: (request: Request) => Promise<Response>
/** The resolver that the page names for the API. */
const tenantOfApi = jwtSubject({
  secret: () => process.env.JWT_SECRET,
  algorithms: ['HS256'],
  issuer: 'https://your-app.example',
  audience: 'https://api.your-app.example',
})

/** Stands for `getToken` of Auth.js, which reads a session as its documentation says. */
const GET_TOKEN = `
import { hkdfSync } from 'node:crypto'
import { jwtDecrypt } from 'jose'

export async function getToken({ req, secret, secureCookie }) {
  const name = secureCookie ? '${COOKIE}' : 'authjs.session-token'
  const cookies = (req.headers.get('cookie') ?? '').split('; ').map((pair) => pair.split('='))
  const token = cookies.find(([key]) => key === name)?.[1]
  if (token === undefined) return null
  const info = \`Auth.js Generated Encryption Key (\${name})\`
  const key = new Uint8Array(hkdfSync('sha256', secret, name, info, 64))
  return jwtDecrypt(token, key).then(({ payload }) => payload, () => null)
}`

beforeAll(async () => {
  const library = join(folder, 'node_modules/@auth/core')
  mkdirSync(library, { recursive: true })
  writeFileSync(join(library, 'package.json'), '{"type":"module"}')
  writeFileSync(join(library, 'jwt.js'), GET_TOKEN)
  vi.stubEnv('AUTH_SECRET', AUTH_SECRET)
  vi.stubEnv('JWT_SECRET', JWT_SECRET)
  const standIn = { '@auth/core/jwt': join(library, 'jwt.js') }
  ;({ tenantFromSession } = await importBlock<{ tenantFromSession: SubjectResolver }>(
    folder,
    PAGE,
    'authjs.ts',
    standIn,
  ))
  const { POST } = await importBlock<{ POST: typeof exchange }>(folder, PAGE, 'exchange.ts')
  exchange = POST
})
afterAll(() => {
  vi.unstubAllEnvs()
  rmSync(folder, { recursive: true, force: true })
})

/** A session as Auth.js makes it: encrypted with a key that it derives from the secret and the cookie's name. */
function sessionOf(claims: Record<string, unknown>): Promise<string> {
  const info = `Auth.js Generated Encryption Key (${COOKIE})`
  const key = new Uint8Array(hkdfSync('sha256', AUTH_SECRET, COOKIE, info, 64))
  return new EncryptJWT(claims)
    .setProtectedHeader({ alg: 'dir', enc: 'A256CBC-HS512' })
    .setIssuedAt()
    .setExpirationTime('30d')
    .setJti(randomUUID())
    .encrypt(key)
}

const signedIn = (session: string) =>
  new Request('https://app.example/api/token', {
    method: 'POST',
    headers: { cookie: `theme=dark; ${COOKIE}=${session}` },
  })

describe('a session of Auth.js', () => {
  it('is not accepted by jwtSubject, as the page says', async () => {
    const subject = jwtSubject({ secret: AUTH_SECRET, algorithms: ['HS256'] })
    const session = await sessionOf({ sub: 'u_17', tenant: 'acme' })
    const answer = await guarded(subject).ask({ authorization: `Bearer ${session}` })
    expect(answer.status).toBe(401)
  })

  it('has the tenant that the callback put there', async () => {
    const session = await sessionOf({ sub: 'u_17', tenant: 'acme' })
    expect(await tenantFromSession(signedIn(session))).toEqual({ tenant: 'acme' })
    expect(await tenantFromSession(signedIn(await sessionOf({ sub: 'u_17' })))).toBeNull()
    expect(await tenantFromSession(signedIn(`${session.slice(0, -4)}AAAA`))).toBeNull()
    expect(await tenantFromSession(new Request('https://app.example/'))).toBeNull()
  })

  it('is exchanged for a JWT of ten minutes, which the API accepts', async () => {
    // jose reads the clock for each claim, and a second may end in between.
    vi.useFakeTimers({ toFake: ['Date'] })
    onTestFinished(() => void vi.useRealTimers())
    const answer = await exchange(signedIn(await sessionOf({ sub: 'u_17', tenant: 'acme' })))
    const { token } = (await answer.json()) as { token: string }
    const { iat = 0, exp = 0 } = decodeJwt(token)
    expect(exp - iat).toBe(600)
    const headers = { authorization: `Bearer ${token}` }
    expect(await tenantOfApi(new Request('https://api.example/', { headers }))).toEqual({
      tenant: 'acme',
    })
  })

  it('is needed for the exchange, and so is a secret', async () => {
    expect((await exchange(signedIn('none'))).status).toBe(401)
    vi.stubEnv('JWT_SECRET', 'short')
    const session = await sessionOf({ sub: 'u_17', tenant: 'acme' })
    await expect(exchange(signedIn(session))).rejects.toThrow(/at least 32 characters/)
    vi.stubEnv('JWT_SECRET', JWT_SECRET)
  })
})
