import {
  createLimiter,
  manualClock,
  slidingWindow,
  type Decision,
  type PolicyState,
} from '@sluice/core'
import { denialBody, rateLimitHeaders, tooManyRequests } from '@sluice/core/http'
import { memory } from '@sluice/core/memory'
import * as fc from 'fast-check'
import { parseList } from 'structured-headers'
import { describe, expect, it } from 'vitest'
import { events, moved, start, type Event } from '../../conformance/model/history.ts'
import { costOf } from '../../conformance/model/replay.ts'
import { policiesOf, rules, type Rule } from '../../conformance/model/rules.ts'
import { setUp } from '../../support/limiters.ts'
import { NOON } from '../../support/times.ts'

const SEED = 20_260_116
const TENANTS = { a: 'tenant-that-nobody-may-see', b: 'another-that-nobody-may-see' }

/** Decisions of every kind, as limiters make them. */
async function decisionsOf(
  list: readonly Rule[],
  startMs: number,
  history: readonly Event[],
): Promise<Decision[]> {
  const clock = manualClock(startMs)
  const limiter = createLimiter({ store: memory(), policies: policiesOf(list), clock })
  const decisions: Decision[] = []
  const reported = { retryAt: startMs, resetAt: startMs }
  for (const { step, ask, apply } of history) {
    clock.set(moved(clock(), step, list, reported))
    const subject = { tenant: TENANTS[ask.tenant as 'a' | 'b'], route: ask.route }
    const cost = costOf(ask, list)
    const decision = await limiter[apply ? 'check' : 'peek'](subject, { cost })
    if (!decision.allowed) reported.retryAt = clock() + (decision.retryAfterMs ?? 0)
    decisions.push(decision)
  }
  return decisions
}

/** The members of a structured list of strings, each with its parameters. */
function items(
  header: string | undefined,
): [name: string, parameters: ReadonlyMap<string, unknown>][] {
  return parseList(header ?? '').map(([name, parameters]) => {
    expect(typeof name).toBe('string')
    return [name as string, parameters]
  })
}

/** Expects the headers and the body to say what the decision says, but for its shadows, and nothing else. */
function saysWhatItIs(decision: Decision): void {
  const headers = rateLimitHeaders(decision)
  const policies = decision.policies.filter(({ enforced }) => enforced)
  // Throws on what may not stand in a header.
  expect([...new Headers(headers).keys()]).toHaveLength(Object.keys(headers).length)
  expect(Object.keys(headers).length > 0).toBe(policies.length > 0)
  if (policies.length === 0) return
  expect(items(headers['RateLimit-Policy'])).toEqual(
    policies.map(({ name, limit, burst, windowMs, unit }) => [
      name,
      new Map<string, unknown>([
        ['q', burst],
        ['w', Math.max(1, Math.ceil((limit === 0 ? windowMs : (windowMs * burst) / limit) / 1000))],
        ...(unit === 'request' ? [] : [['sluice-unit', unit] as const]),
      ]),
    ]),
  )
  const reported = decision.allowed ? policies : policies.filter(({ fits }) => !fits)
  const states = items(headers['RateLimit'])
  expect(states).toEqual(
    reported.map(({ name, remaining, resetMs, retryAfterMs, fits }) => [
      name,
      new Map([
        ['r', remaining],
        ['t', Math.ceil((fits ? resetMs : Math.min(resetMs, retryAfterMs ?? resetMs)) / 1000)],
      ]),
    ]),
  )
  const shown = policies.filter(
    ({ burst, remaining, scope }) =>
      headers['X-RateLimit-Limit'] === String(burst) &&
      headers['X-RateLimit-Remaining'] === String(remaining) &&
      headers['X-RateLimit-Scope'] === scope,
  )
  expect(shown.length).toBeGreaterThan(0)
  resetsInTime(decision, Number(headers['X-RateLimit-Reset']), shown)
  const longest = Math.max(...states.map(([, parameters]) => Number(parameters.get('t'))))
  retriesInTime(decision, headers, longest)
}

/** Epoch seconds, rounded up: never in the past, never in milliseconds. */
function resetsInTime(decision: Decision, reset: number, shown: readonly PolicyState[]): void {
  expect(Number.isInteger(reset)).toBe(true)
  const waits = decision.allowed
    ? shown.map(({ resetMs }) => resetMs)
    : [decision.retryAfterMs ?? decision.violated?.resetMs ?? 0]
  expect(waits.map((wait) => Math.ceil((decision.at + wait) / 1000))).toContain(reset)
}

function retriesInTime(decision: Decision, headers: Record<string, string>, longest: number): void {
  const retry = {
    'Retry-After': headers['Retry-After'],
    'retry-after-ms': headers['retry-after-ms'],
    'x-should-retry': headers['x-should-retry'],
  }
  const wait = decision.retryAfterMs
  if (decision.allowed || wait === null) {
    const shouldRetry = decision.allowed ? undefined : 'false'
    expect(retry).toEqual({
      'Retry-After': undefined,
      'retry-after-ms': undefined,
      'x-should-retry': shouldRetry,
    })
    return
  }
  const isShort = wait < 60_000
  expect(retry).toEqual({
    'Retry-After': String(Math.max(1, Math.ceil(wait / 1000))),
    'retry-after-ms': isShort ? String(wait) : undefined,
    'x-should-retry': isShort ? undefined : 'false',
  })
  expect(Number(retry['Retry-After'])).toBeGreaterThanOrEqual(longest)
}

describe('the headers and the body of a response', () => {
  it('agree with the decision, parse as structured fields, and contain no id', async () => {
    expect.hasAssertions()
    const property = fc.asyncProperty(rules(5), start, events(25), async (list, at, history) => {
      for (const decision of await decisionsOf(list, at, history)) {
        saysWhatItIs(decision)
        const body = decision.allowed ? {} : denialBody(decision)
        const text = JSON.stringify([rateLimitHeaders(decision), body])
        expect(text).not.toMatch(/nobody-may-see/)
      }
    })
    await fc.assert(property, { seed: SEED, numRuns: 250 })
  })

  it('make a denial a 429, or a 503 when the store failed', async () => {
    const property = fc.asyncProperty(rules(5), start, events(15), async (list, at, history) => {
      for (const decision of await decisionsOf(list, at, history)) {
        if (decision.allowed) continue
        const response = tooManyRequests(decision)
        expect(response.status).toBe(429)
        expect(response.headers.get('cache-control')).toBe('no-store')
        expect(response.headers.get('content-type')).toBe('application/json')
        const wait = decision.retryAfterMs
        expect(await response.json()).toEqual({
          error: decision.reason,
          message: expect.stringContaining(`"${decision.violated?.name}"`),
          policy: decision.violated?.name,
          scope: decision.violated?.scope,
          retryAfter: wait === null ? null : Number(response.headers.get('retry-after')),
          resetAt: wait === null ? null : Number(response.headers.get('x-ratelimit-reset')),
          resetsAt: decision.violated?.resetsAt,
        })
      }
    })
    await fc.assert(property, { seed: SEED, numRuns: 60 })
  })
})

describe('a limit of 0', () => {
  it('is reported with its window, and as not to be retried', async () => {
    const policies = [slidingWindow({ name: 'rpm', limit: 0, window: '1m', per: ['tenant'] })]
    const { limiter } = setUp(policies)
    const decision = await limiter.check({ tenant: 'acme' })
    expect(rateLimitHeaders(decision)).toEqual({
      'RateLimit-Policy': '"rpm";q=0;w=60',
      RateLimit: '"rpm";r=0;t=60',
      'X-RateLimit-Limit': '0',
      'X-RateLimit-Remaining': '0',
      'X-RateLimit-Reset': String(NOON / 1_000 + 60),
      'X-RateLimit-Scope': 'tenant',
      'x-should-retry': 'false',
    })
  })
})

describe('a decision made without the store', () => {
  const base = {
    policies: [],
    skipped: [],
    violated: undefined,
    delayMs: 0,
    at: 1_768_478_400_500,
    source: 'memory',
    plan: undefined,
    planSource: undefined,
  } as const
  const degraded = { cause: 'store_timeout', mode: 'deny' } as const

  it('is a 503 to be retried in a second if it denies', async () => {
    const response = tooManyRequests({
      ...base,
      allowed: false,
      reason: 'store_unavailable',
      retryAfterMs: 1_000,
      degraded,
    })
    expect(response.status).toBe(503)
    expect(Object.fromEntries(response.headers)).toEqual({
      'cache-control': 'no-store',
      'content-type': 'application/json',
      'retry-after': '1',
      'retry-after-ms': '1000',
    })
    expect(await response.json()).toEqual({
      error: 'store_unavailable',
      message: 'Rate limiting is unavailable. Retry in 1 s.',
      policy: null,
      scope: null,
      retryAfter: 1,
      resetAt: 1_768_478_402,
    })
  })

  it('has no headers if it allows', () => {
    const allowed = { ...base, allowed: true, reason: undefined, retryAfterMs: 0 } as const
    expect(rateLimitHeaders({ ...allowed, degraded: { ...degraded, mode: 'allow' } })).toEqual({})
  })
})
