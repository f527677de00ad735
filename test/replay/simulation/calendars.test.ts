import { dailyCap, fixedWindow, monthlyCap, type Policy } from '@sluice/core'
import { calendar, type CalendarOptions } from '@sluice/core/calendars'
import type { DesiredEntry } from '@sluice/core/configuration'
import { openLog, policySet, suggestLimits } from '@sluice/replay'
import { describe, expect, it } from 'vitest'
import { replayText, write } from '../support.ts'

const common = { name: 'quota', limit: 1, per: ['tenant'] } as const
const daily = (options: CalendarOptions): Policy =>
  dailyCap({ ...common, resets: calendar(options) })

/** A log of these times. */
const log = (header: string, ...lines: readonly string[]): string =>
  [`time,tenant${header}`, ...lines].join('\n')

/** The lines of a log that a policy denies. */
async function deniedLines(
  text: string,
  policy: Policy,
  configuration?: readonly DesiredEntry[],
  columns?: Readonly<Record<string, string>>,
): Promise<number[]> {
  const lines: number[] = []
  await replayText(
    text,
    { policies: [policy], ...(configuration && { configuration }) },
    { onDenied: ({ call }) => lines.push(call.line), log: { columns } },
  )
  return lines
}

const PERIODS: Record<string, readonly [policy: Policy, end: string]> = {
  'a day in Berlin': [daily({ zone: 'Europe/Berlin' }), '2026-10-24T22:00:00Z'],
  'the day of 25 hours': [daily({ zone: 'Europe/Berlin' }), '2026-10-25T23:00:00Z'],
  'a week in New York': [
    fixedWindow({
      ...common,
      resets: calendar({ every: 'week', zone: 'America/New_York', on: { weekday: 'friday' } }),
    }),
    '2026-10-30T04:00:00Z',
  ],
  'a month from the 31st on': [
    monthlyCap({ ...common, resets: calendar({ zone: 'Asia/Tokyo', anchor: '2026-01-31T06' }) }),
    '2026-02-27T21:00:00Z',
  ],
  'a fiscal year': [
    fixedWindow({ ...common, resets: calendar({ every: 'year', on: { month: 4 } }) }),
    '2026-04-01T00:00:00Z',
  ],
}

describe('a replay of calendars decides by the times of the log', () => {
  it.each(Object.entries(PERIODS))('%s', async (_, [policy, end]) => {
    const at = (ms: number): string => `${new Date(Date.parse(end) + ms).toISOString()},acme`
    const text = log('', at(-7_200_000), at(-1), at(0), at(3_600_000))
    expect(await deniedLines(text, policy)).toEqual([3, 5])
  })

  it('and by a zone that a column of the log has', async () => {
    const policy = daily({ zone: ({ zone }) => zone })
    const text = log(
      ',zone',
      '2026-11-10T22:00:00Z,acme,Europe/Berlin',
      '2026-11-10T22:00:00Z,beta,UTC',
      '2026-11-10T23:30:00Z,acme,Europe/Berlin',
      '2026-11-10T23:30:00Z,beta,UTC',
    )
    expect(await deniedLines(text, policy, undefined, { zone: 'zone' })).toEqual([5])
  })

  it('and by settings of a zone and an anchor', async () => {
    const text = log(
      '',
      '2026-11-10T13:00:00Z,acme',
      '2026-11-10T14:59:00Z,acme',
      '2026-11-10T15:00:00Z,acme',
    )
    const settings = { zone: 'Asia/Tokyo' }
    expect(await deniedLines(text, daily({}))).toEqual([3, 4])
    expect(await deniedLines(text, daily({}), [{ policy: 'quota', settings }])).toEqual([3])
    const anchor = { anchor: '2026-01-01T15' }
    expect(await deniedLines(text, daily({}), [{ policy: 'quota', settings: anchor }])).toEqual([3])
  })

  it('and finds the smallest limit within the days of a zone that was set', async () => {
    const lines = ['13:00:00', '14:59:00', '15:00:00'].map((time) => `2026-11-10T${time}Z,acme`)
    const file = await openLog(write('log.csv', log('', ...lines)))
    const smallest = async (configuration: readonly DesiredEntry[]) => {
      const set = policySet('set', { policies: [daily({})], configuration })
      const { limits } = await suggestLimits(() => file.calls(), set)
      return limits[0]?.limit
    }
    expect(await smallest([])).toBe(3)
    const settings = { zone: 'Asia/Tokyo' }
    expect(await smallest([{ policy: 'quota', settings }])).toBe(2)
  })
})
