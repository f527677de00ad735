import type { Decision } from '@sluice/core'
import { parseList } from 'structured-headers'
import { expect } from 'vitest'

/** A header as its parser for structured fields reads it. */
export function items(value: string | undefined): [unknown, Record<string, unknown>][] {
  return parseList(value ?? '').map(([name, parameters]) => [name, Object.fromEntries(parameters)])
}

/** Holds the headers of all styles against the decision they were made of. */
export function expectTruthfulHeaders(decision: Decision, headers: Record<string, string>): void {
  const shown = decision.allowed ? decision.policies : decision.policies.filter((p) => !p.fits)
  expect(items(headers['RateLimit-Policy'])).toEqual([
    ['daily', { q: 40, w: 86_400 }],
    ['rpm.v2', { q: 10, w: 60 }],
    ['tpm', { q: 1_000, w: 2, 'sluice-unit': 'token' }],
  ])
  expect(items(headers['RateLimit'])).toEqual(
    shown.map((p) => [p.name, { r: p.remaining, t: Math.ceil(p.resetMs / 1000) }]),
  )
  const named = decision.policies.find(
    (p) =>
      p.scope === headers['X-RateLimit-Scope'] &&
      String(p.limit) === headers['X-RateLimit-Limit'] &&
      String(p.remaining) === headers['X-RateLimit-Remaining'],
  )
  expect(named).toBeDefined()
  const reset = Number(headers['X-RateLimit-Reset'])
  expect(reset * 1000).toBeGreaterThanOrEqual(decision.at)
  if (!decision.allowed) {
    expect(named).toBe(decision.violated)
    retryTellsTheTruth(decision.retryAfterMs, headers)
    if (decision.retryAfterMs !== null)
      expect(reset).toBe(Math.ceil((decision.at + decision.retryAfterMs) / 1000))
  } else {
    expect(headers).not.toHaveProperty('Retry-After')
  }
  // Of the same policy, with the seconds from now.
  expect(headers['RateLimit-Limit']).toBe(headers['X-RateLimit-Limit'])
  expect(headers['RateLimit-Remaining']).toBe(headers['X-RateLimit-Remaining'])
  const left = Number(headers['RateLimit-Reset'])
  expect(Math.abs(reset - decision.at / 1000 - left)).toBeLessThan(1)
  if (!decision.allowed && decision.retryAfterMs !== null) {
    expect(String(left)).toBe(headers['Retry-After'])
  }
  // None of them may make `Headers` throw.
  expect(() => new Headers(headers)).not.toThrow()
}

function retryTellsTheTruth(waitMs: number | null, headers: Record<string, string>): void {
  if (waitMs === null) {
    expect(headers).not.toHaveProperty('Retry-After')
  } else {
    expect(headers['Retry-After']).toBe(String(Math.ceil(waitMs / 1000)))
    for (const [, { t }] of items(headers['RateLimit']))
      expect(Number(headers['Retry-After'])).toBeGreaterThanOrEqual(Number(t))
  }
  const isShort = waitMs !== null && waitMs < 60_000
  expect(headers['retry-after-ms']).toBe(isShort ? String(waitMs) : undefined)
  expect(headers['x-should-retry']).toBe(isShort ? undefined : 'false')
}
