import { expect, it } from 'vitest'
import { strokeOfAnchor } from '../../../../packages/core/src/calendars/stroke.ts'
import { DAYS, digits, shownAt, textOf } from './boundaries.ts'
import { clocksHere } from './runtime.ts'
import { offsetOf, tableOf, type Span } from './tables.ts'
import { ZONES } from './zones.ts'

const { version, apart } = clocksHere()
const table = tableOf(version)

const [FIRST, LAST] = [Date.UTC(2006, 0), Date.UTC(2027, 0)]
/** Near a month, so that hours, weekdays and days of the month all come. */
const STEP_MS = 677 * 3_600_000 + 13 * 60_000

/** The instants before and at each change of clocks, and others between. */
function instantsOf(spans: readonly Span[]): number[] {
  const instants = spans.flatMap(({ from }) => [from - 60_000, from])
  for (let instant = FIRST; instant < LAST; instant += STEP_MS) instants.push(instant)
  return instants.filter((instant) => instant >= FIRST && instant < LAST)
}

it.each(ZONES.filter((zone) => !apart.includes(zone)))(
  'an instant as an anchor is the local time that clocks in %s showed',
  (zone) => {
    const spans = table.get(zone) ?? []
    const differing = instantsOf(spans).flatMap((instant) => {
      const offset = offsetOf(spans, instant)
      const { month, day, weekday, hour } = shownAt(offset, instant)
      const date = new Date(instant)
      const local = textOf(zone, offset, instant).replace(/\[.*/, '')
      return [instant, date, date.toISOString(), local]
        .map((anchor) => [anchor, strokeOfAnchor(anchor, zone), { month, day, weekday, hour }])
        .filter(([, found, expected]) => JSON.stringify(found) !== JSON.stringify(expected))
    })
    expect(differing).toEqual([])
  },
)

it('a date as an anchor is that day, with its hour or midnight', () => {
  const differing = DAYS.filter(({ year, month, day, weekday }, index) => {
    const date = [year, digits(month), digits(day)].join('-')
    const hour = index % 24
    const found = [strokeOfAnchor(date, 'UTC'), strokeOfAnchor(`${date}T${digits(hour)}`, 'UTC')]
    const expected = [0, hour].map((one) => ({ month, day, weekday, hour: one }))
    return JSON.stringify(found) !== JSON.stringify(expected)
  })
  expect(differing).toEqual([])
})

it.each([
  '2026-02-29',
  '2026-04-31',
  '2026-13-01',
  '2026-00-10',
  '2026-01-31T24',
  '31.01.2026',
  '',
])('no day is %j', (anchor) => {
  expect(strokeOfAnchor(anchor, 'UTC')).toBeUndefined()
})
