import { addressSubject, allOf, apiKeySubject, firstOf, headerSubject } from '@sluice/core/identity'
import { jwtSubject, type JwtSubjectOptions } from '@sluice/core/jwt'
import { describe, expect, it } from 'vitest'

const JWT = { secret: 'x'.repeat(32), algorithms: ['HS256'] }
const KEYS = { jwksUrl: 'https://issuer.example/jwks', algorithms: ['RS256'] }

describe('a mistake in the options is an error at construction', () => {
  it.each<[string, object]>([
    ['jwtSubject', { algorithms: ['HS256'] }],
    ['jwtSubject', { ...JWT, ...KEYS }],
    ['jwtSubject.secret', { ...JWT, secret: 'short' }],
    ['jwtSubject', { ...JWT, secret: undefined }],
    ['jwtSubject.jwksUrl', { ...KEYS, jwksUrl: 'file:///etc/passwd' }],
    ['jwtSubject.jwksUrl', { ...KEYS, jwksUrl: 'issuer.example/jwks' }],
    ['jwtSubject.algorithms', { ...JWT, algorithms: [] }],
    ['jwtSubject.algorithms', { ...JWT, algorithms: undefined }],
    ['jwtSubject.algorithms', { ...JWT, algorithms: ['none'] }],
    ['jwtSubject.algorithms', { ...JWT, algorithms: ['HS256', 'RS256'] }],
    ['jwtSubject.algorithms', { ...KEYS, algorithms: ['RS256', 'HS256'] }],
    ['jwtSubject.issuer', { ...JWT, issuer: '' }],
    ['jwtSubject.issuer', { ...JWT, issuer: undefined }],
    ['jwtSubject.audience', { ...JWT, audience: undefined }],
    ['jwtSubject.audience', { ...JWT, audience: [] }],
    ['jwtSubject.claims', { ...JWT, claims: {} }],
    ['jwtSubject.claims', { ...JWT, claims: { tenant: '' } }],
    ['jwtSubject.claims', { ...JWT, claims: { tenant: [] } }],
    ['jwtSubject.claims', { ...JWT, claims: { tenant: ['o', ''] } }],
    ['jwtSubject.claims', { ...JWT, claims: { tenant: ['o', 1] } }],
    ['jwtSubject.claims', { ...JWT, claims: { tenant: [['o']] } }],
    ['jwtSubject.claims', { ...JWT, claims: { route: 'route' } }],
    ['jwtSubject.claims', { ...JWT, claims: JSON.parse('{"__proto__":"sub"}') as object }],
    ['jwtSubject.header', { ...JWT, header: 'X Session' }],
    ['jwtSubject.maxLifetimeSeconds', { ...JWT, maxLifetimeSeconds: Infinity }],
    ['jwtSubject.clockToleranceSeconds', { ...JWT, clockToleranceSeconds: '1 year' }],
    ['jwtSubject.clockToleranceSeconds', { ...JWT, clockToleranceSeconds: -1 }],
    ['jwtSubject.clockToleranceSeconds', { ...JWT, clockToleranceSeconds: Infinity }],
    ['jwtSubject.jwksTimeoutMs', { ...KEYS, jwksTimeoutMs: 0 }],
    ['jwtSubject.clock', { ...JWT, clock: 1_767_225_600_000 }],
    ['jwtSubject.clock', { ...JWT, clock: null }],
    ['jwtSubject.audiences', { ...JWT, audiences: ['x'] }],
  ])('%s: %j', (option, options) => {
    expect(() => jwtSubject(options as JwtSubjectOptions)).toThrow(
      expect.objectContaining({ name: 'ConfigError', option }),
    )
  })

  it.each<[string, () => unknown]>([
    ['headerSubject.header', () => headerSubject({ header: 'a:b', dimension: 'project' })],
    ['headerSubject.header', () => headerSubject({ header: '', dimension: 'project' })],
    ['headerSubject.dimension', () => headerSubject({ header: 'X-Id', dimension: '' })],
    ['headerSubject.dimension', () => headerSubject({ header: 'X-Id', dimension: '__proto__' })],
    ['headerSubject.dimension', () => headerSubject({ header: 'X-Id', dimension: 'route' })],
    ['headerSubject.name', () => headerSubject({ name: 'X-Id' } as never)],
    ['apiKeySubject.lookup', () => apiKeySubject({} as never)],
    ['apiKeySubject.header', () => apiKeySubject({ header: 'a b', lookup: () => null })],
    ['addressSubject.from', () => addressSubject({} as never)],
    ['addressSubject.from', () => addressSubject({ from: 0 })],
    ['addressSubject.from', () => addressSubject({ from: 1.5 })],
    ['addressSubject.from', () => addressSubject({ from: NaN })],
    ['addressSubject.from', () => addressSubject({ from: 'toString' as never })],
    ['addressSubject', () => addressSubject('vercel' as never)],
    [
      'addressSubject.development',
      () => addressSubject({ from: 'vercel', development: '127.0.0.1' as never }),
    ],
    ['addressSubject.ipv6Prefix', () => addressSubject({ from: 1, ipv6Prefix: 31 })],
    ['addressSubject.ipv6Prefix', () => addressSubject({ from: 1, ipv6Prefix: 65 })],
    ['addressSubject.ipv6Prefix', () => addressSubject({ from: 1, ipv6Prefix: 48.5 })],
    ['addressSubject.ipv6Prefix', () => addressSubject({ from: 1, ipv6Prefix: NaN })],
    ['addressSubject.ipv6Prefix', () => addressSubject({ from: 1, ipv6Prefix: '56' as never })],
    ['addressSubject.ipv6Prefix', () => addressSubject({ from: 1, ipv6Prefix: null as never })],
    ['firstOf', () => firstOf()],
    ['allOf', () => allOf()],
    ['allOf', () => allOf({ tenant: 'acme' } as never)],
  ])('%s', (option, make) => {
    expect(make).toThrow(expect.objectContaining({ name: 'ConfigError', option }))
  })

  it('does not name a secret', () => {
    expect(() => jwtSubject({ ...JWT, secret: 'hunter2' })).not.toThrow(/hunter2/)
  })
})
