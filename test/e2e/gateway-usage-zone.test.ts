import { manualClock, slidingWindow } from '@sluice/core'
import { describe, expect, it } from 'vitest'
import { SPEND_ADDRESSES } from '../../apps/worker/src/spend/admin-addresses.ts'
import { recordSpend } from '../../apps/worker/src/spend/recording.ts'
import { setUp } from '../support/limiters.ts'
import { HOUR } from '../support/times.ts'

const POLICY = slidingWindow({
  name: 'usd',
  unit: 'usd',
  limit: 1e12,
  window: '1m',
  per: ['tenant'],
})
const ACME = { tenant: 'acme', team: 'search', user: 'ada', key: 'key_1' }

/** A request each quarter-hour of four days, the first for 1 micro-dollar, the second for 2 … */
async function gateway() {
  const clock = manualClock(Date.parse('2026-10-23T00:00:00Z'))
  const { limiter } = setUp([POLICY], { clock, extensions: [recordSpend()] })
  const sent: { at: number; usd: number }[] = []
  for (let usd = 1; usd <= 4 * 96; usd += 1) {
    await limiter.check(ACME, { cost: { usd } })
    sent.push({ at: clock(), usd })
    clock.advance(HOUR / 4)
  }
  return {
    sent,
    get: (path: string): Promise<Response> => {
      const request = new Request(`http://gateway.example${path}`)
      const handler = SPEND_ADDRESSES.get(new URL(request.url).pathname)
      if (!handler) throw new Error(`there is no ${path}`)
      return handler(request, limiter, {})
    },
  }
}

interface Answer {
  readonly zone?: string
  readonly notes?: readonly string[]
  readonly total: { readonly usd: number }
  readonly rows: readonly { readonly day?: string; readonly hour?: string; readonly usd: number }[]
}

/** Sums of what was sent by the date that clocks in a zone show, from 24 to 25 October. */
function expectedIn(zone: string, sent: readonly { at: number; usd: number }[]) {
  const format = new Intl.DateTimeFormat('en-CA', { timeZone: zone, dateStyle: 'short' })
  const sums: Record<string, number> = {}
  for (const { at, usd } of sent) sums[format.format(at)] = (sums[format.format(at)] ?? 0) + usd
  return Object.fromEntries(['2026-10-24', '2026-10-25'].map((day) => [day, sums[day]]))
}

describe.each(['Europe/Berlin', 'America/New_York', 'Asia/Kolkata', 'Asia/Kathmandu'])(
  'the usage of the gateway in %s',
  (zone) => {
    const query = `from=2026-10-24&to=2026-10-25&zone=${zone}`

    it('is that of its days, in JSON and in CSV', async () => {
      const { sent, get } = await gateway()
      const expected = expectedIn(zone, sent)
      const answer = (await (await get(`/admin/usage?by=day&${query}`)).json()) as Answer
      expect(Object.fromEntries(answer.rows.map(({ day, usd }) => [day, usd]))).toEqual(expected)
      const total = Object.values(expected).reduce((sum = 0, usd = 0) => sum + usd, 0)
      expect(answer).toMatchObject({ zone, total: { usd: total } })
      const isHalf = zone.startsWith('Asia/')
      const notes = answer.notes?.map((note) => note.slice(0, 36))
      expect(notes).toEqual(isHalf ? ['The day begins within 3 hours (UTC):'] : [])
      const file = await (await get(`/admin/usage?by=day&format=csv&${query}`)).text()
      const lines = file.trimEnd().split('\r\n')
      expect(lines[0]).toContain(',time_zone,')
      expect(lines.slice(1).map((line) => line.slice(0, 19))).toEqual(
        Object.keys(expected).map((day) => `${day}T00:00:00`),
      )
    })

    it('says the hours of its days, each once', async () => {
      const { get } = await gateway()
      const { rows } = (await (await get(`/admin/usage?by=hour&${query}`)).json()) as Answer
      const hours = rows.map(({ hour = '' }) => hour).toSorted()
      expect(hours).toHaveLength(zone === 'Europe/Berlin' ? 49 : 48)
      expect(hours.every((hour) => /^2026-10-2[45]T\d\d:\d\d[+-]\d\d:\d\d$/.test(hour))).toBe(true)
    })

    it('is on the page with the zone', async () => {
      const { get } = await gateway()
      const page = await (await get(`/admin/spend/view?${query}`)).text()
      expect(page).toContain(`Spent by day (${zone})`)
      expect(page.match(/<th scope="row">2026-10-2[45]<\/th>/g)).toHaveLength(2)
    })
  },
)

it('the gateway refuses a zone that is none, and says nothing of zones without one', async () => {
  const { get } = await gateway()
  const refused = await get('/admin/usage?zone=Mars/Olympus')
  expect(refused.status).toBe(400)
  expect(await refused.text()).toContain('zone must be a time zone')
  const plain = await (await get('/admin/usage?from=2026-10-24&to=2026-10-25&by=day')).json()
  expect(Object.keys(plain as object)).toEqual(['from', 'to', 'by', 'total', 'rows'])
})
