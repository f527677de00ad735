import { ConfigError } from '@sluice/core'
import { limitGuesses, rateLimit, type AdapterOptions } from '@sluice/core/http'
import { describe, expect, it } from 'vitest'
import { perMinute, subject } from './support.ts'

describe('a mistake in the options is an error at construction', () => {
  it.each<[string, object]>([
    ['routes', { routes: [] }],
    ['routes', { routes: '/api' }],
    ['routes[0].path', { routes: ['api'] }],
    ['routes[0].path', { routes: ['/api/%61i'] }],
    ['routes[0].id', { routes: [{ path: '/a', id: '' }] }],
    ['routes[0].methods', { routes: [{ path: '/a', methods: [] }] }],
    ['routes[0].methods', { routes: [{ path: '/a', methods: '' }] }],
    ['routes[0].methods', { routes: [{ path: '/a', methods: null }] }],
    ['routes[0].route', { routes: [{ path: '/a', route: 'a' }] }],
    ['subject', { subject: undefined }],
    ['subject', { subject: { tenant: 'acme' } }],
    ['format', { format: 'xml' }],
    ['headers', { headers: true }],
    ['headers', { headers: 'draft' }],
    ['headers[]', { headers: ['X-RateLimit'] }],
    ['headers[]', { headers: ['toString'] }],
    ['onDenied', { onDenied: new Response() }],
    ['onDenied', { onDenied: 0 }],
    ['rateLimit.onDeny', { onDeny: () => undefined }],
    ['preflight', { preflight: true }],
    ['preflight', { preflight: 'charge' }],
    ['unauthenticated', { unauthenticated: perMinute }],
    ['unauthenticated', { unauthenticated: false }],
    ['unauthenticated', { unauthenticated: 'address' }],
    ['unauthenticated', { unauthenticated: { limiter: perMinute(1), subject } }],
    ['unauthenticated.limiter', { unauthenticated: limitGuesses({} as never, subject) }],
    ['unauthenticated.limiter', { unauthenticated: limitGuesses(undefined as never, subject) }],
  ])('%s: %j', (option, wrong) => {
    const options = { routes: ['/**'], subject, ...wrong } as AdapterOptions
    const make = () => rateLimit(perMinute(1), options, () => new Response())
    expect(make).toThrow(ConfigError)
    expect(make).toThrow(expect.objectContaining({ option }))
  })

  it('limitGuesses.subject must be a function', () => {
    expect(() => limitGuesses(perMinute(1), { tenant: 'acme' } as never)).toThrow(
      expect.objectContaining({ name: 'ConfigError', option: 'limitGuesses.subject' }),
    )
  })

  it.each([undefined, null, {}, 'limiter'])('%j is not accepted as a limiter', (limiter) => {
    const options = { routes: ['/**'], subject }
    expect(() => rateLimit(limiter as never, options, () => new Response())).toThrow(
      expect.objectContaining({ option: 'limiter' }),
    )
  })
})
