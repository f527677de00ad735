import type { DeniedDecision, PolicyReason, PolicyState } from '@sluice/core'
import { denialBody, rateLimitHeaders, tooManyRequests, type DenialFormat } from '@sluice/core/http'
import { describe, expect, it } from 'vitest'
import { MIDNIGHT } from '../../support/times.ts'
import { denied, state } from './support.ts'

const END = '2026-02-01T00:00:00+01:00[Europe/Berlin]'
const WAIT_MS = Date.parse('2026-02-01T00:00:00+01:00') - MIDNIGHT
const QUOTAS = ['daily_quota_exceeded', 'monthly_quota_exceeded', 'quota_exceeded'] as const

const calendarState = (reason: PolicyReason, more: Partial<PolicyState> = {}): PolicyState =>
  state({
    name: 'quota',
    reason,
    fits: false,
    resetMs: WAIT_MS,
    retryAfterMs: WAIT_MS,
    resetsAt: END,
    ...more,
  })

/** The part of each format's body that has the facts. */
const FACTS: Readonly<Record<DenialFormat, (body: Body) => Body>> = {
  default: (body) => body,
  nested: (body) => body['error'] as Body,
  problem: (body) => ({ message: body['detail'], ...body }),
  openai: (body) => body['error'] as Body,
}

type Body = Readonly<Record<string, unknown>>

async function factsIn(decision: DeniedDecision, format: DenialFormat): Promise<Body> {
  return FACTS[format]((await tooManyRequests(decision, { format }).json()) as Body)
}

const CASES = Object.keys(FACTS).flatMap((format) =>
  QUOTAS.map((reason) => [format as DenialFormat, reason] as const),
)

describe.each(CASES)(
  'a denial in the format %s by a calendar, with the reason %s,',
  (format, reason) => {
    it('says its end as local time with its zone', async () => {
      const { message, ...facts } = await factsIn(denied(calendarState(reason)), format)
      expect(message).toBe(
        'This call may cost 1; 0 of 100 requests of policy "quota" are left until 2026-02-01 00:00 (Europe/Berlin).',
      )
      // The error objects of OpenAI have four fields, which its clients know.
      const hasField = format !== 'openai'
      expect(facts['resetsAt']).toBe(hasField ? END : undefined)
      expect(facts['retryAfter']).toBe(hasField ? WAIT_MS / 1_000 : undefined)
    })

    it('says the seconds where the end is not the time from which it fits', async () => {
      const longer = calendarState(reason, { name: 'other', retryAfterMs: WAIT_MS + 5_000 })
      const decision = { ...denied(calendarState(reason), longer), retryAfterMs: WAIT_MS + 5_000 }
      const { message } = await factsIn(decision, format)
      expect(message).toMatch(
        new RegExp(
          ` left\\. Another limit denies for longer\\. Retry in ${WAIT_MS / 1_000 + 5} s\\.$`,
        ),
      )
      const held = denied(calendarState('concurrency_exceeded', { retryAfterMs: 1_000 }))
      expect((await factsIn(held, format))['message']).toMatch(
        /by calls in flight\. Retry in 1 s\.$/,
      )
    })

    it('says the seconds where the store knows no end for its time', async () => {
      const unknown = denied(calendarState(reason, { resetMs: 0, retryAfterMs: 0 }))
      expect((await factsIn(unknown, format))['message']).toMatch(/ are left\. Retry in 1 s\.$/)
    })

    it('has the same bytes as before without a calendar', async () => {
      const { resetsAt: _, ...plain } = calendarState(reason)
      const answer = tooManyRequests(denied(plain), { format })
      const text = await answer.text()
      expect(text).toContain(' left until 31 Jan 2026 23:00:00 GMT.')
      expect(text).not.toContain('resetsAt')
    })
  },
)

it('the headers of a denial and its body tell one end', () => {
  const decision = denied(calendarState('quota_exceeded'))
  const headers = rateLimitHeaders(decision, ['x-ratelimit', 'draft', 'draft-6'])
  expect(headers).toMatchObject({
    'Retry-After': String(WAIT_MS / 1_000),
    'X-RateLimit-Reset': String((MIDNIGHT + WAIT_MS) / 1_000),
    'RateLimit-Reset': String(WAIT_MS / 1_000),
    RateLimit: `"quota";r=0;t=${WAIT_MS / 1_000}`,
  })
  expect(JSON.stringify(headers)).not.toContain('Berlin')
  const { resetAt, resetsAt = '' } = denialBody(decision)
  expect(resetAt).toBe(Date.parse(resetsAt.replace(/\[.*/, '')) / 1_000)
})
