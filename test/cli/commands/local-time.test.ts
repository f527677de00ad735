import { afterAll, expect, it } from 'vitest'
import { project, removeProjects } from '../project.ts'

afterAll(removeProjects)

/** Limits of which most is used up, at noon in UTC of 15 January 2026. */
const LIMITS = `
import { createLimiter, dailyCap, fixedWindow, manualClock, monthlyCap } from '@sluice/core'
import { calendar } from '@sluice/core/calendars'
import { memory } from '@sluice/core/memory'
import { denialId, flushDenials, recordDenials } from '@sluice/usage/denials'

const per = ['tenant']
const resets = calendar({ zone: ({ zone }) => zone })
export const limiter = createLimiter({
  store: memory(),
  clock: manualClock(Date.UTC(2026, 0, 15, 12)),
  policies: [
    dailyCap({ name: 'daily', limit: 10, per, resets }),
    fixedWindow({ name: 'weekly', limit: 20, per, resets: calendar({ every: 'week', zone: 'Asia/Kolkata' }) }),
    monthlyCap({ name: 'monthly', limit: 30, per }),
  ],
  extensions: [recordDenials({ flushEvery: '1h' })],
})

const subject = { tenant: 'acme', zone: 'America/New_York' }
await limiter.check(subject, { cost: 10 })
const denied = await limiter.check(subject)
const request = new Request('https://app.example', { headers: { 'x-request-id': 'req_7' } })
denialId()(denied, request)
await flushDenials(limiter)
`

const DAILY = '2026-01-16 00:00 (America/New_York)'
const WEEKLY = '2026-01-19 00:00 (Asia/Kolkata)'

it.each([
  [
    'show --tenant acme --subject zone=America/New_York',
    [
      'tenant=acme zone=America/New_York',
      'policy | used | of | left | unit | returns',
      `daily | 10 | 10 | 0 | request | in 17h, at ${DAILY}`,
      `weekly | 10 | 20 | 10 | request | in 3d 7h, at ${WEEKLY}`,
      'monthly | 10 | 30 | 20 | request | in 16d 12h',
    ],
  ],
  [
    'why --tenant acme --subject zone=America/New_York',
    [
      'tenant=acme zone=America/New_York',
      'It asks for 1 request, as the denial of 2026-01-15 12:00Z did.',
      `Denied by daily: 10 of 10 requests used in the period until ${DAILY}, and it asks for 1.`,
      'It fits in 17h if nothing else is charged.',
      'It fits now with a limit of 11 for daily.',
      `weekly: 10 of 20 requests used in the period until ${WEEKLY}`,
      'monthly: 10 of 30 requests used',
    ],
  ],
  [
    'why --tenant acme --id req_7',
    [
      '2026-01-15 12:00Z tenant=acme zone=America/New_York',
      `Denied by daily: 10 of 10 requests used in the period until ${DAILY}, and it asked for 1.`,
      'It would have fitted 17h later, if nothing else was charged.',
      `weekly: 10 of 20 requests used in the period until ${WEEKLY}`,
      'monthly: 10 of 30 requests used',
    ],
  ],
])('sluice %s says the end of a period as local time', async (command, lines) => {
  const app = project({ 'src/limits.ts': LIMITS })
  const { out, err } = await app.sluice(command.split(' '))
  expect(err).toBe('')
  expect(out.split('\n').map((line) => line.trim().replaceAll(/ {2,}/g, ' | '))).toEqual(lines)
})
