import {
  createLimiter,
  manualClock,
  slidingWindow,
  type DeniedDecision,
  type PolicyState,
} from '@sluice/core'
import { calendar } from '@sluice/core/calendars'
import { credits, grant } from '@sluice/core/credits'
import { rateLimitHeaders, tooManyRequests, type DenialFormat } from '@sluice/core/http'
import { memory } from '@sluice/core/memory'
import { describe, expect, it } from 'vitest'
import { MIDNIGHT } from '../../support/times.ts'
import { app, denied, state } from './support.ts'

const DAY = 86_400_000
const usd = (dollars: number) => Math.round(dollars * 1_000_000)
const acme = { tenant: 'acme' }
const topUpUrl = 'https://app.example.com/credits'
const resets = calendar({ every: 'month', zone: 'Europe/Berlin' })
const RESET = Date.parse('2026-02-01T00:00:00+01:00')

interface Facts {
  readonly message: string
  readonly retryAt?: number
  readonly resetsAt?: string
}

/** Denials, each with the facts that an answer to it has. */
const CASES: Readonly<Record<string, readonly [() => Promise<DeniedDecision>, Facts]>> = {
  'a balance without an allowance': [
    () => spent({}),
    { message: 'This call may cost $0.12; $0.04 of policy "credits" is left.' },
  ],
  'a balance with a link': [
    () => spent({ topUpUrl }),
    {
      message: `This call may cost $0.12; $0.04 of policy "credits" is left. Top up at ${topUpUrl}`,
    },
  ],
  'an allowance that is larger': [
    () => spent({ topUpUrl, included: { amount: usd(0.12), resets } }, usd(0.08)),
    {
      message: `This call may cost $0.12; $0.04 of policy "credits" is left until 2026-02-01 00:00 (Europe/Berlin). Top up at ${topUpUrl}`,
      retryAt: RESET,
      resetsAt: '2026-02-01T00:00:00+01:00[Europe/Berlin]',
    },
  ],
  'an allowance that is too small': [
    () => spent({ included: { amount: usd(0.04), resets } }),
    {
      message: 'This call may cost $0.12; $0.04 of policy "credits" is left.',
      resetsAt: '2026-02-01T00:00:00+01:00[Europe/Berlin]',
    },
  ],
  'a grant that begins later': [
    () => spent({ included: { amount: usd(0.04), resets } }, 0, MIDNIGHT + DAY),
    {
      message:
        'This call may cost $0.12; $0.04 of policy "credits" is left until 02 Jan 2026 00:00:00 GMT.',
      retryAt: MIDNIGHT + DAY,
      resetsAt: '2026-02-01T00:00:00+01:00[Europe/Berlin]',
    },
  ],
  'units of your own': [
    () => Promise.resolve(denied(creditState({ unit: 'credit', cost: 12, remaining: 4 }))),
    { message: 'This call may cost 12; 4 credits of policy "credits" are left.' },
  ],
}

const creditState = (more: Partial<PolicyState>): PolicyState =>
  state({
    name: 'credits',
    reason: 'credits_exhausted',
    fits: false,
    windowMs: 0,
    resetMs: 0,
    retryAfterMs: null,
    ...more,
  })

/** The denial of a call of $0.12 where $0.04 is left. */
async function spent(options: object, used = 0, effectiveAt?: number): Promise<DeniedDecision> {
  const limiter = createLimiter({
    store: memory(),
    clock: manualClock(MIDNIGHT),
    onStoreError: 'deny',
    policies: [credits({ name: 'credits', per: ['tenant'], unsettled: 'keep', ...options })],
  })
  const paid = { kind: 'paid', at: MIDNIGHT } as const
  if (!('included' in options)) {
    await grant(limiter, acme, { ...paid, id: 'a', amount: usd(0.04) })
  }
  if (effectiveAt !== undefined) {
    await grant(limiter, acme, { ...paid, id: 'b', amount: usd(1), effectiveAt })
  }
  if (used > 0) await limiter.check(acme, { cost: { usd: used } })
  const decision = await limiter.check(acme, { cost: { usd: usd(0.12) } })
  if (decision.allowed) throw new Error('It should have denied')
  return decision
}

type Body = Readonly<Record<string, unknown>>

/** The facts in the body of each format. */
const FACTS: Readonly<Record<DenialFormat, (body: Body) => Body>> = {
  default: ({ error: code, ...body }) => ({ code, ...body }),
  nested: (body) => body['error'] as Body,
  problem: ({ detail: message, ...body }) => ({ message, ...body }),
  openai: (body) => body['error'] as Body,
}

const TABLE = Object.keys(CASES).flatMap((name) =>
  Object.keys(FACTS).flatMap((format) =>
    ([undefined, 429, 402] as const).map(
      (spentStatus) => [name, format as DenialFormat, spentStatus] as const,
    ),
  ),
)

describe.each(TABLE)(
  'a denial by %s in the format %s, with spentStatus %s,',
  (name, format, spentStatus) => {
    const [make, { message, retryAt, resetsAt }] = CASES[name] as (typeof CASES)[string]
    const answer = async () => tooManyRequests(await make(), { format, spentStatus })

    it('says what the call may cost, what is left, and where to top up', async () => {
      const response = await answer()
      const isOpenAi = format === 'openai'
      const facts = FACTS[format]((await response.json()) as Body)
      expect(facts).toMatchObject({
        message,
        code: isOpenAi ? 'insufficient_quota' : 'credits_exhausted',
        ...(isOpenAi && { type: 'insufficient_quota' }),
        ...(format === 'problem' && { status: response.status, 'violated-policies': ['credits'] }),
      })
      const link = message.includes(topUpUrl) ? topUpUrl : undefined
      const resetAt = retryAt === undefined ? null : retryAt / 1_000
      // The error objects of OpenAI have four fields, which its clients know.
      const fields = [facts['topUpUrl'], facts['resetsAt'], facts['resetAt']]
      expect(fields).toEqual(
        isOpenAi ? [undefined, undefined, undefined] : [link, resetsAt, resetAt],
      )
    })

    it('says a time only where there is one, and none with a 402', async () => {
      const { status, headers } = await answer()
      expect(status).toBe(spentStatus ?? 429)
      const wait =
        retryAt !== undefined && status !== 402 ? (retryAt - MIDNIGHT) / 1_000 : undefined
      expect(headers.get('retry-after')).toBe(wait === undefined ? null : String(wait))
      expect(headers.get('x-should-retry')).toBe('false')
      expect(headers.has('retry-after-ms')).toBe(false)
    })
  },
)

it.each(['x-ratelimit', 'draft-6'] as const)('%s has no reset where nothing resets', (style) => {
  const prefix = style === 'draft-6' ? 'RateLimit' : 'X-RateLimit'
  const headers = rateLimitHeaders(denied(creditState({})), [style])
  expect(headers[`${prefix}-Remaining`]).toBe('0')
  expect(Object.keys(headers)).not.toContain(`${prefix}-Reset`)
  const later = rateLimitHeaders(denied(creditState({ retryAfterMs: 5_000 })), [style])
  expect(Object.keys(later)).toContain(`${prefix}-Reset`)
})

describe('an adapter with spentStatus 402', () => {
  const rpm = slidingWindow({ name: 'rpm', limit: 1, window: '1m', per: ['tenant'] })

  it('answers 402 without a wait where credits are used up', async () => {
    const limiter = createLimiter({
      store: memory(),
      onStoreError: 'deny',
      policies: [
        credits({ name: 'credits', per: ['tenant'], unsettled: 'keep', unit: 'request', topUpUrl }),
      ],
    })
    const answer = await app(limiter, { spentStatus: 402 })()
    expect([answer.status, answer.headers.get('x-should-retry')]).toEqual([402, 'false'])
    expect(answer.headers.has('retry-after')).toBe(false)
    expect(await answer.json()).toMatchObject({ error: 'credits_exhausted', topUpUrl })
    expect((await app(limiter)()).status).toBe(429)
  })

  it('answers 429 where a rate limit denies', async () => {
    const ask = app(createLimiter({ store: memory(), policies: [rpm] }), { spentStatus: 402 })
    await ask()
    const answer = await ask()
    expect([answer.status, answer.headers.has('retry-after')]).toEqual([429, true])
  })

  const make = (spentStatus: number) => () =>
    app(createLimiter({ store: memory(), policies: [rpm] }), { spentStatus: spentStatus as 402 })

  it('refuses another status', () => {
    expect(make(402)).not.toThrow()
    expect(make(403)).toThrow(/spentStatus: must be one of "402", "429"/)
  })
})

it('a 402 of a limiter further in keeps its headers', async () => {
  const limiter = createLimiter({
    store: memory(),
    policies: [slidingWindow({ name: 'outer', limit: 9, window: '1m', per: ['tenant'] })],
  })
  const inner = tooManyRequests(await spent({}), { spentStatus: 402 })
  const answer = await app(limiter, {}, () => inner)()
  expect(answer.headers.get('ratelimit')).toBe('"credits";r=40000')
})
