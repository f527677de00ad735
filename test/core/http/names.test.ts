import { createLimiter, slidingWindow } from '@sluice/core'
import { memory } from '@sluice/core/memory'
import { rateLimitHeaders } from '@sluice/core/http'
import { parseList } from 'structured-headers'
import { describe, expect, it } from 'vitest'
import { allowed, state } from './support.ts'

const BAD = ['a"b', 'a\\b', 'ü', 'a b', 'a\nb', 'a\r\nx: y', 'a\0', '日本', 'a;q=1', 'a,b', '']

describe('names in headers', () => {
  it.each(BAD)('a policy cannot be named %j', (name) => {
    expect(() => slidingWindow({ name, limit: 1, window: '1m', per: ['tenant'] })).toThrow(
      /^Sluice: slidingWindow\.name: must be/,
    )
  })

  it.each(BAD)('a scope or a unit cannot be %j', (name) => {
    const policy = { name: 'rpm', limit: 1, window: '1m', per: ['tenant'] } as const
    expect(() => slidingWindow({ ...policy, scope: name })).toThrow(/\.scope: must be/)
    expect(() => slidingWindow({ ...policy, unit: name })).toThrow(/\.unit: must be/)
  })

  it.each(['name', 'scope', 'unit'])(
    'a policy whose %s was changed by hand is refused',
    (field) => {
      const policy = slidingWindow({ name: 'rpm', limit: 1, window: '1m', per: ['tenant'] })
      const policies = [{ ...policy, [field]: 'ü' } as never]
      expect(() => createLimiter({ store: memory(), policies })).toThrow(
        /^Sluice: policies\[0\]: must be created by a factory/,
      )
    },
  )

  it('a quote or a backslash in a forged name is escaped', () => {
    const headers = rateLimitHeaders(allowed(state({ name: 'a"b\\c' })), ['draft'])
    expect(parseList(headers['RateLimit-Policy'] ?? '')[0]?.[0]).toBe('a"b\\c')
    expect(parseList(headers['RateLimit'] ?? '')[0]?.[0]).toBe('a"b\\c')
  })
})
