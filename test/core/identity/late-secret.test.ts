import { SignJWT } from 'jose'
import { createLimiter, slidingWindow } from '@sluice/core'
import { rateLimit } from '@sluice/core/http'
import { jwtSubject } from '@sluice/core/jwt'
import { memory } from '@sluice/core/memory'
import { expect, it, vi } from 'vitest'

const SECRET = 'a secret of at least thirty-two characters'
const ALGORITHMS = { algorithms: ['HS256'] }

const jwtOf = (secret: string): Promise<string> =>
  new SignJWT({ tenant: 'acme' })
    .setProtectedHeader({ alg: 'HS256' })
    .setExpirationTime('5m')
    .sign(new TextEncoder().encode(secret))

const requestWith = (headers: Record<string, string> = {}) =>
  new Request('https://app.example/api/ai/evaluate', { headers })

it('a function returns the secret at the first request, and is not called again', async () => {
  const secret = vi.fn<() => string | undefined>(() => SECRET)
  const subject = jwtSubject({ secret, ...ALGORITHMS })
  expect(secret).not.toHaveBeenCalled()
  const headers = { authorization: `Bearer ${await jwtOf(SECRET)}` }
  expect(await subject(requestWith(headers))).toEqual({ tenant: 'acme' })
  expect(await subject(requestWith(headers))).toEqual({ tenant: 'acme' })
  const forged = { authorization: `Bearer ${await jwtOf(`${SECRET}!`)}` }
  expect(await subject(requestWith(forged))).toBeNull()
  expect(secret).toHaveBeenCalledOnce()
})

it.each([
  ['nothing', undefined, 'missing_credentials', /\.env\.local/],
  ['an empty text', '', 'missing_credentials', /\.env\.local/],
  ['a short text', 'hunter2', 'invalid_option', /32 characters, not 7.*openssl/],
  ['a promise', Promise.resolve(SECRET), 'invalid_option', /object.*openssl/],
])('%s is misuse at every request, with or without a JWT', async (_, value, code, reason) => {
  const subject = jwtSubject({ secret: () => value as string, ...ALGORITHMS })
  const error = expect.objectContaining({
    name: 'ConfigError',
    code,
    option: 'jwtSubject.secret',
    reason: expect.stringMatching(reason) as string,
    message: expect.not.stringMatching(/hunter2/) as string,
  }) as Error
  await expect(subject(requestWith())).rejects.toThrow(error)
  const headers = { authorization: `Bearer ${await jwtOf(SECRET)}` }
  await expect(subject(requestWith(headers))).rejects.toThrow(error)
})

it('an adapter throws it on, and does not answer 401 or 503', async () => {
  const policies = [slidingWindow({ name: 'rpm', limit: 9, window: '1m', per: ['tenant'] })]
  const limiter = createLimiter({ store: memory(), policies })
  const subject = jwtSubject({ secret: () => undefined, ...ALGORITHMS })
  const handle = rateLimit(limiter, { routes: ['/api/ai/**'], subject }, () => new Response())
  await expect(handle(requestWith())).rejects.toThrow(
    expect.objectContaining({ code: 'missing_credentials' }) as Error,
  )
})

it('a variable that a build lacks is told of with the remedy', () => {
  expect(() => jwtSubject({ secret: undefined, ...ALGORITHMS })).toThrow(
    /secret: \(\) => process\.env\.JWT_SECRET/,
  )
})
