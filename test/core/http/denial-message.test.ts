import { rateLimitHeaders, tooManyRequests, type DenialFormat } from '@sluice/core/http'
import {
  concurrency,
  dailyCap,
  monthlyCap,
  slidingWindow,
  type DeniedDecision,
  type Policy,
} from '@sluice/core'
import { reserve } from '@sluice/core/reservations'
import { describe, expect, it } from 'vitest'
import { setUpAtMidnight } from './support.ts'

const FORMATS: DenialFormat[] = ['default', 'nested', 'problem', 'openai']
const ACME = { tenant: 'acme' }
const per = ['tenant'] as const
const money = { name: 'budget', unit: 'usd', limit: 1_000_000, per } as const
const minute = { window: '1m', per } as const
const calls = concurrency({ name: 'calls', limit: 2, per: ['tenant'] })

interface Case {
  readonly policies: readonly Policy[]
  readonly spent: Readonly<Record<string, number>>
  readonly asked: Readonly<Record<string, number>>
  readonly message: string
  readonly remaining: string
}

const CASES: Readonly<Record<string, Case>> = {
  'dollars of a month': {
    policies: [monthlyCap(money)],
    spent: { usd: 960_000 },
    asked: { usd: 120_000 },
    message:
      'This call may cost $0.12; $0.04 of $1.00 of policy "budget" is left until 01 Feb 2026 00:00:00 GMT.',
    remaining: '40000',
  },
  'dollars of a day, with parts of a cent': {
    policies: [dailyCap(money)],
    spent: { usd: 999_996 },
    asked: { usd: 120_500 },
    message:
      'This call may cost $0.120500; $0.000004 of $1.00 of policy "budget" is left until 02 Jan 2026 00:00:00 GMT.',
    remaining: '4',
  },
  'dollars that calls in flight may return': {
    policies: [monthlyCap(money), calls],
    spent: { usd: 960_000, call: 1 },
    asked: { usd: 120_000, call: 1 },
    message:
      'This call may cost $0.12; $0.04 of $1.00 of policy "budget" is left; more is held by calls in flight. Retry in 1 s.',
    remaining: '40000',
  },
  'a day, where a month denies for longer': {
    policies: [dailyCap({ name: 'daily', limit: 1, per }), monthlyCap(money)],
    spent: { request: 1, usd: 960_000 },
    asked: { request: 1, usd: 120_000 },
    message: `This call may cost 1; 0 of 1 requests of policy "daily" are left. Another limit denies for longer. Retry in ${31 * 86_400} s.`,
    remaining: '0',
  },
  'tokens of a minute, where a day denies for longer': {
    policies: [
      slidingWindow({ name: 'tpm', unit: 'token', limit: 1_000, ...minute }),
      dailyCap({ name: 'daily', unit: 'token', limit: 1_000, per }),
    ],
    spent: { token: 900 },
    asked: { token: 300 },
    message:
      'This call may cost 300; 100 of 1000 tokens of policy "tpm" are left. Another limit denies for longer. Retry in 86400 s.',
    remaining: '100',
  },
  'two that deny for as long': {
    policies: [
      dailyCap({ name: 'daily', unit: 'token', limit: 1_000, per }),
      dailyCap({ name: 'other', unit: 'token', limit: 1_000, per: 'global' }),
    ],
    spent: { token: 900 },
    asked: { token: 300 },
    message:
      'This call may cost 300; 100 of 1000 tokens of policy "daily" are left until 02 Jan 2026 00:00:00 GMT.',
    remaining: '100',
  },
  tokens: {
    policies: [slidingWindow({ name: 'tpm', unit: 'token', limit: 1_000, ...minute })],
    spent: { token: 900 },
    asked: { token: 300 },
    message: 'This call may cost 300; 100 of 1000 tokens of policy "tpm" are left. Retry in 60 s.',
    remaining: '100',
  },
  requests: {
    policies: [slidingWindow({ name: 'rpm', limit: 20, ...minute })],
    spent: { request: 20 },
    asked: { request: 1 },
    message: 'This call may cost 1; 0 of 20 requests of policy "rpm" are left. Retry in 60 s.',
    remaining: '0',
  },
  'calls in flight': {
    policies: [calls],
    spent: { call: 2 },
    asked: { call: 1 },
    message:
      'This call may cost 1; 0 of 2 calls of policy "calls" are left; more is held by calls in flight. Retry in 1 s.',
    remaining: '0',
  },
  'a cost above the limit': {
    policies: [dailyCap(money)],
    spent: { usd: 0 },
    asked: { usd: 7_500_000 },
    message: 'This call may cost $7.50; $1.00 of $1.00 of policy "budget" is left. It never fits.',
    remaining: '1000000',
  },
}

/** A limiter of which so much is spent, or held by calls in flight, and the denial of the next call. */
async function denialOf({ policies, spent, asked }: Case): Promise<DeniedDecision> {
  const { limiter } = setUpAtMidnight(...policies)
  const call = await reserve(limiter, ACME, { cost: spent })
  if (call.allowed && !spent['call']) await call.settle(spent)
  const decision = await reserve(limiter, ACME, { cost: asked })
  if (decision.allowed) throw new Error('It should have denied')
  return decision
}

async function messageIn(response: Response): Promise<unknown> {
  const body = (await response.json()) as Record<string, unknown>
  const { message, detail } = { ...body, ...(body['error'] as object) } as Record<string, unknown>
  return message ?? detail
}

describe.each(Object.entries(CASES))('the message of a denial by %s', (_, one) => {
  it.each(FORMATS)('says the cost, the units left and the time: %s', async (format) => {
    const response = tooManyRequests(await denialOf(one), { format, headers: false })
    expect(await messageIn(response)).toBe(one.message)
  })

  it('has the units and the time of the headers', async () => {
    const decision = await denialOf(one)
    const headers = rateLimitHeaders(decision)
    expect(headers['X-RateLimit-Remaining']).toBe(one.remaining)
    const until = / until (.*)\.$/.exec(one.message)?.[1]
    const seconds = /Retry in (\d+) s\.$/.exec(one.message)?.[1]
    const reset = until === undefined ? undefined : String(Date.parse(until) / 1000)
    const { 'X-RateLimit-Reset': resetAt, 'Retry-After': retryAfter } = headers
    expect({ resetAt, retryAfter }).toMatchObject({
      ...(reset !== undefined && { resetAt: reset }),
      ...(seconds !== undefined && { retryAfter: seconds }),
    })
  })
})
