import { InputError, slidingWindow, type Limiter } from '@sluice/core'
import {
  compileRoutes,
  createGuard,
  refuse,
  type GuardOutcome,
  type Refusal,
  type RouteInput,
  type SubjectResolver,
} from '@sluice/core/http'
import { describe, expect, it, vi } from 'vitest'
import { setUp } from '../../support/limiters.ts'
import { SAME_ROUTE, urlOf } from '../../support/spellings.ts'

const LIMIT = 100

function limiterOf(limit = LIMIT): Limiter {
  return setUp([slidingWindow({ name: 'rpm', limit, window: '1m', per: ['tenant', 'route'] })])
    .limiter
}

/** A guard behind a matcher, as in an adapter. */
function guarded<Context extends unknown[] = []>(
  limiter: Limiter,
  routes: readonly RouteInput<Context>[],
  subject: SubjectResolver<Context>,
) {
  const match = compileRoutes(routes)
  const guard = createGuard<Context>(limiter, { subject })
  return async (request: Request, ...context: Context): Promise<GuardOutcome> => {
    const route = match(request.method, new URL(request.url).pathname)
    return route === undefined ? { kind: 'pass' } : guard(route, request, ...context)
  }
}

/** Sends one request through a guard, as an adapter would. */
function ask(
  limiter: Limiter,
  path: string,
  {
    routes = ['/api/ai/evaluate'],
    method = 'GET',
    tenant = 'acme',
  }: { routes?: readonly RouteInput[]; method?: string; tenant?: string | null } = {},
): Promise<GuardOutcome> {
  const subject = () => (tenant === null ? null : { tenant })
  const request = new Request(urlOf(path), { method })
  return guarded(limiter, routes, subject)(request)
}

async function used(limiter: Limiter, route: string, tenant = 'acme'): Promise<number> {
  const { policies } = await limiter.peek({ tenant, route })
  return LIMIT - (policies[0]?.remaining ?? 0)
}

describe('a guard', () => {
  it.each(SAME_ROUTE)('counts a path $name in the one budget of its route', async ({ write }) => {
    const limiter = limiterOf()
    expect(await ask(limiter, write('/api/ai/evaluate'))).toMatchObject({ kind: 'allow' })
    expect(await used(limiter, '/api/ai/evaluate')).toBe(1)
  })

  it.each([
    ...SAME_ROUTE.map(({ write }) => write('/api/ai/evaluate')),
    '/api/ai/other',
    '/api/ai',
    '/api/ai/a/b/c',
    '/api/ai/x%zz',
    '/api/ai/%c0%af',
    '/%61pi/ai/x%zz',
    '/api/%61%49/%c0',
  ])('counts %s under the one id of a catch-all route', async (path) => {
    const limiter = limiterOf()
    const routes = [{ path: '/api/ai/**', id: 'ai' }]
    expect(await ask(limiter, path, { routes })).toMatchObject({ kind: 'allow' })
    expect(await used(limiter, 'ai')).toBe(1)
  })

  it.each([
    '/',
    '/api',
    '/api/ai',
    '/api/ai/evaluate2',
    '/api/ai/evaluate/x',
    '/x/api/ai/evaluate',
    '/%',
  ])('lets %s pass and charges nothing', async (path) => {
    const limiter = limiterOf()
    expect(await ask(limiter, path)).toEqual({ kind: 'pass' })
    expect(await used(limiter, '/api/ai/evaluate')).toBe(0)
  })

  it('counts each value of a path parameter in one budget', async () => {
    const limiter = limiterOf()
    const routes = ['/api/models/:model']
    for (const model of ['a', 'b', 'C', '%63', 'a.b'])
      await ask(limiter, `/api/models/${model}`, { routes })
    expect(await used(limiter, '/api/models/:model')).toBe(5)
  })

  it('prefers the more exact route, whatever their order', async () => {
    for (const routes of [
      ['/api/ai/**', '/api/ai/evaluate'],
      ['/api/ai/evaluate', '/api/ai/**'],
    ]) {
      const limiter = limiterOf()
      await ask(limiter, '/api/ai/evaluate', { routes })
      expect(await used(limiter, '/api/ai/evaluate')).toBe(1)
    }
  })

  it('limits only the methods of a route, HEAD with GET, and falls back to a wider route', async () => {
    const limiter = limiterOf()
    const only = [{ path: '/api/ai/evaluate', id: 'read', methods: ['get'] }]
    for (const method of ['GET', 'HEAD']) {
      expect(await ask(limiter, '/api/ai/evaluate', { routes: only, method })).toMatchObject({
        kind: 'allow',
      })
    }
    expect(await used(limiter, 'read')).toBe(2)
    for (const method of ['POST', 'OPTIONS', 'DELETE']) {
      const outcome = await ask(limiter, '/api/ai/evaluate', { routes: only, method })
      expect(outcome).toEqual({ kind: 'pass' })
    }
    const routes = [...only, { path: '/api/**', id: 'rest' }]
    await ask(limiter, '/api/ai/evaluate', { routes, method: 'POST' })
    expect(await used(limiter, 'rest')).toBe(1)
    expect(await used(limiter, 'read')).toBe(2)
  })

  it("charges a route's own cost", async () => {
    const limiter = limiterOf()
    const routes = [{ path: '/api/ai/evaluate', id: 'ai', cost: 7 }]
    await ask(limiter, '/api/ai/evaluate', { routes })
    expect(await used(limiter, 'ai')).toBe(7)
  })

  it('uses the matched route, whatever the subject says', async () => {
    const limiter = limiterOf()
    const guard = guarded(limiter, ['/a'], () => ({ tenant: 'acme', route: 'free' }))
    await guard(new Request('https://app.example/a'))
    expect([await used(limiter, '/a'), await used(limiter, 'free')]).toEqual([1, 0])
  })

  it('answers 401 to a request without a subject, and does not ask the limiter', async () => {
    const limiter = limiterOf()
    const check = vi.spyOn(limiter, 'check')
    const outcome = await ask(limiter, '/api/ai/evaluate', { tenant: null })
    const { response } = outcome as { response: Response }
    expect(response.status).toBe(401)
    expect(response.headers.get('www-authenticate')).toBe('Bearer')
    expect(await response.json()).toMatchObject({ error: 'unauthenticated' })
    expect(check).not.toHaveBeenCalled()
  })

  it.each([undefined, null, false, 0, ''])(
    'takes %j from a resolver as no subject',
    async (noSubject) => {
      const outcome = await guarded(
        limiterOf(),
        ['/a'],
        () => noSubject as never,
      )(new Request('https://app.example/a'))
      expect(outcome).toMatchObject({ kind: 'refuse', response: { status: 401 } })
    },
  )

  it.each(['', 'secret-\ud800'])(
    'answers 400 to an invalid id, without repeating it',
    async (tenant) => {
      const outcome = await ask(limiterOf(), '/api/ai/evaluate', { tenant })
      const { response } = outcome as { response: Response }
      expect(response.status).toBe(400)
      const text = await response.text()
      expect(JSON.parse(text)).toMatchObject({ error: 'invalid_subject' })
      expect(text).not.toContain('secret')
    },
  )

  it('answers 429 when the budget is used up, and names no id', async () => {
    const limiter = limiterOf(1)
    const tenant = 'tenant-that-nobody-may-see'
    await ask(limiter, '/api/ai/evaluate', { tenant })
    const outcome = await ask(limiter, '/api/ai/evaluate', { tenant })
    const { response } = outcome as { response: Response }
    expect(response.status).toBe(429)
    expect(response.headers.get('retry-after')).toBe('60')
    const text = `${JSON.stringify([...response.headers])} ${await response.text()}`
    expect(text).not.toContain(tenant)
  })

  it('rethrows errors of the resolver, and the error for a missing dimension', async () => {
    const request = new Request('https://app.example/a')
    const fault = new Error('JWKS unreachable')
    const failing = guarded(limiterOf(), ['/a'], () => Promise.reject(fault))
    await expect(failing(request)).rejects.toThrow('JWKS unreachable')
    const empty = guarded(limiterOf(), ['/a'], () => ({ user: 'u' }))
    await expect(empty(request)).rejects.toThrow(InputError)
  })

  it('applies refusals of the adapter before the limiter, in the format of denials', async () => {
    const limiter = limiterOf()
    const check = vi.spyOn(limiter, 'check')
    const before = vi.fn<() => Promise<Refusal>>(async () =>
      refuse({ status: 429, code: 'flood', message: 'Too many.', details: { retryAfter: 10 } }),
    )
    const guard = createGuard<[string]>(
      limiter,
      {
        subject: ({ headers }) => (headers.has('x') ? { tenant: 'acme' } : null),
        format: 'nested',
      },
      { before },
    )
    const route = { id: 'ai', cost: undefined }
    const answer = async (headers = {}) => {
      const outcome = await guard(route, new Request('https://app.example/', { headers }), 'env')
      return (outcome as { response: Response }).response
    }
    expect((await answer()).status).toBe(401)
    expect(before).not.toHaveBeenCalled()
    const refused = await answer({ x: '1' })
    expect(await refused.json()).toEqual({
      error: { code: 'flood', message: 'Too many.', retryAfter: 10 },
    })
    expect(before).toHaveBeenCalledWith({ tenant: 'acme', route: 'ai' }, 'env')
    expect(check).not.toHaveBeenCalled()
  })

  it('passes the context of an adapter to the resolver', async () => {
    const limiter = limiterOf()
    const guard = guarded<[string]>(limiter, ['/a'], (_, tenant) => ({ tenant }))
    await guard(new Request('https://app.example/a'), 'from-env')
    expect(await used(limiter, '/a', 'from-env')).toBe(1)
  })
})

it('no path makes the matcher throw', () => {
  const match = compileRoutes(['/api/ai/**', '/a/:b', '/c'])
  for (const path of [
    '',
    '/',
    '%',
    '/%',
    '/%zz',
    '/%c0%af',
    '/a/%',
    '\ud800',
    '/a/\u0000',
    '/'.repeat(5_000),
  ]) {
    expect(() => match('GET', path)).not.toThrow()
  }
})
