import { dailyCap, fixedWindow, monthlyCap, type Policy } from '@sluice/core'
import { calendar } from '@sluice/core/calendars'
import { explain, explanationText } from '@sluice/core/explain'
import { denialBody, rateLimitHeaders, tooManyRequests } from '@sluice/core/http'
import { describe, expect, it } from 'vitest'
import { ACME, setUp } from '../../support/limiters.ts'

const per = ['tenant'] as const
const common = { name: 'quota', limit: 3, per }

interface Case {
  readonly policy: Policy
  readonly reason: string
  /** The end of the period of `NOON`. */
  readonly end: string
  readonly text: string
}

const CASES: Readonly<Record<string, Case>> = {
  'a day': {
    policy: dailyCap({ ...common, resets: calendar({ zone: 'Europe/Berlin' }) }),
    reason: 'daily_quota_exceeded',
    end: '2026-01-16T00:00:00+01:00[Europe/Berlin]',
    text: '2026-01-16 00:00 (Europe/Berlin)',
  },
  'a week': {
    policy: fixedWindow({
      ...common,
      resets: calendar({ every: 'week', zone: 'Asia/Kolkata', on: { weekday: 'saturday' } }),
    }),
    reason: 'quota_exceeded',
    end: '2026-01-17T00:00:00+05:30[Asia/Kolkata]',
    text: '2026-01-17 00:00 (Asia/Kolkata)',
  },
  'a billing month': {
    policy: monthlyCap({
      ...common,
      resets: calendar({ zone: 'America/St_Johns', anchor: '2025-10-31T06' }),
    }),
    reason: 'monthly_quota_exceeded',
    end: '2026-01-31T06:00:00-03:30[America/St_Johns]',
    text: '2026-01-31 06:00 (America/St_Johns)',
  },
  'a year': {
    policy: fixedWindow({
      ...common,
      resets: calendar({ every: 'year', on: { month: 4, day: 1 } }),
    }),
    reason: 'quota_exceeded',
    end: '2026-04-01T00:00:00+00:00[UTC]',
    text: '2026-04-01 00:00 (UTC)',
  },
}

describe.each(Object.entries(CASES))('%s of a calendar', (_, { policy, reason, end, text }) => {
  const instant = Date.parse(end.replace(/\[.*/, ''))

  async function deny() {
    const made = setUp([policy])
    await made.limiter.check(ACME, { cost: 3 })
    const denied = await made.limiter.check(ACME)
    if (denied.allowed) throw new Error('It should have denied')
    return { ...made, denied }
  }

  it('is denied with its end, in each state, the body and the headers', async () => {
    const { limiter, denied } = await deny()
    expect(denied).toMatchObject({ reason, violated: { resetsAt: end } })
    expect(denied.at + Number(denied.retryAfterMs)).toBe(instant)
    expect(denialBody(denied)).toMatchObject({ resetAt: instant / 1_000, resetsAt: end })
    expect(await tooManyRequests(denied, { format: 'openai' }).json()).toMatchObject({
      error: {
        type: 'insufficient_quota',
        message: `This call may cost 1; 0 of 3 requests of policy "quota" are left until ${text}.`,
      },
    })
    const headers = rateLimitHeaders(denied)
    expect(headers['X-RateLimit-Reset']).toBe(String(instant / 1_000))
    expect(headers['Retry-After']).toBe(String((instant - denied.at) / 1_000))
    const { policies } = await limiter.peek(ACME)
    expect(policies[0]?.resetsAt).toBe(end)
  })

  it('is explained with its end, whether it denies or not', async () => {
    const { limiter } = await deny()
    const explanation = await explain(limiter, ACME)
    expect(explanation.denials).toMatchObject([{ policy: 'quota', reason, resetsAt: end }])
    expect(explanationText(explanation).split('\n')[0]).toBe(
      `Denied by quota: 3 of 3 requests used in the period until ${text}, and it asks for 1.`,
    )
    await limiter.reset(ACME)
    expect(explanationText(await explain(limiter, ACME))).toBe(
      `Allowed.\n  quota: 0 of 3 requests used in the period until ${text}`,
    )
  })

  it('lets it pass at this end, and not a millisecond before', async () => {
    const { clock, limiter } = await deny()
    clock.set(instant - 1)
    expect(await limiter.peek(ACME)).toMatchObject({ allowed: false, retryAfterMs: 1 })
    clock.set(instant)
    expect((await limiter.peek(ACME)).allowed).toBe(true)
  })
})

it('a policy without a calendar has no end in its state, nor in an explanation', async () => {
  const { limiter } = setUp([monthlyCap(common)])
  await limiter.check(ACME, { cost: 3 })
  const explanation = await explain(limiter, ACME)
  expect(JSON.stringify(explanation)).not.toContain('resetsAt')
  expect(explanationText(explanation)).toContain('Denied by quota: 3 of 3 requests used, and')
})
