import { readFileSync } from 'node:fs'
import { usd } from '@sluice/ai'
import { createLimiter, dailyCap, manualClock, slidingWindow, type Limiter } from '@sluice/core'
import { calendar } from '@sluice/core/calendars'
import { rateLimit } from '@sluice/core/http'
import { memory } from '@sluice/core/memory'
import { reserve } from '@sluice/core/reservations'
import { expect, it } from 'vitest'
import { tableOf } from '../support/markdown.ts'

const page = readFileSync(new URL('../../docs/troubleshooting.md', import.meta.url), 'utf8')
const ACME = { tenant: 'acme' }

const limiterOf = (limit: number): Limiter =>
  createLimiter({
    store: memory(),
    policies: [slidingWindow({ name: 'rpm', limit, window: '1m', per: ['tenant'] })],
  })
const remainingOf = async (limiter: Limiter): Promise<number | undefined> =>
  (await limiter.peek(ACME)).policies[0]?.remaining

async function statusOf(pattern: string): Promise<number> {
  const options = { routes: [pattern], subject: () => ACME }
  const serve = rateLimit(limiterOf(0), options, () => new Response())
  return (await serve(new Request('https://app.example/api/ai/chat'))).status
}

/** At this time it is one at night of the next day in Auckland, and two at night in Honolulu. */
const NOW = Date.UTC(2026, 10, 29, 12)
const AUCKLAND = 'Pacific/Auckland'
const HONOLULU = 'Pacific/Honolulu'

/** Returns the ends of the day of a tenant, in epoch ms, after a call in each zone. */
async function endsAfter(calls: readonly { tenant: string; zone: string }[]): Promise<number[]> {
  const resets = calendar({ zone: ({ zone }) => zone })
  const policies = [dailyCap({ name: 'daily', limit: 10, per: ['tenant'], resets })]
  const limiter = createLimiter({ store: memory(), clock: manualClock(NOW), policies })
  const ends: number[] = []
  for (const call of calls) {
    // oxlint-disable-next-line no-await-in-loop -- one after another
    const [daily] = (await limiter.check(call)).policies
    ends.push(NOW + (daily?.resetMs ?? Number.NaN))
  }
  return ends
}

/** The effect of each mistake, by a word of its row. */
const OUTCOMES: Readonly<Record<string, () => Promise<void>>> = {
  'a limiter over': async () => {
    for (const _ of [1, 2]) expect((await limiterOf(1).check(ACME)).allowed).toBe(true)
  },
  'if (await': async () => {
    const decision = await limiterOf(0).check(ACME)
    expect([decision.allowed, Boolean(decision)]).toEqual([false, true])
  },
  'routes:': async () => {
    expect([await statusOf('/api/ai'), await statusOf('/api/ai/**')]).toEqual([200, 429])
  },
  'daily: 5000': () => {
    expect(usd(0.005)).toBe(5_000)
    return Promise.resolve()
  },
  'no `settle`': async () => {
    const limiter = limiterOf(10)
    await reserve(limiter, ACME, { cost: 9 })
    expect(await remainingOf(limiter)).toBe(1)
  },
  'a second `settle`': async () => {
    const limiter = limiterOf(10)
    const call = await reserve(limiter, ACME, { cost: 9 })
    for (const used of [2, 7]) if (call.allowed) await call.settle(used)
    expect(await remainingOf(limiter)).toBe(8)
  },
  'limiter.reset': async () => {
    const limiter = limiterOf(10)
    await limiter.check(ACME)
    await limiter.reset({ tenant: 'amce' })
    expect(await remainingOf(limiter)).toBe(9)
  },
  'a zone of each user': async () => {
    const ends = await endsAfter([
      { ...ACME, zone: AUCKLAND },
      { ...ACME, zone: HONOLULU },
    ])
    expect(ends).toEqual(Array(2).fill(Date.UTC(2026, 10, 30, 11)))
  },
  '`zone` from a header': async () => {
    const ends = await endsAfter([
      { tenant: 'a', zone: AUCKLAND },
      { tenant: 'b', zone: HONOLULU },
    ])
    expect(ends).toEqual([Date.UTC(2026, 10, 30, 11), Date.UTC(2026, 10, 30, 10)])
  },
  'one limiter in two tests': async () => {
    const limiter = limiterOf(1)
    const test = async () => (await limiter.check(ACME)).allowed
    expect([await test(), await test()]).toEqual([true, false])
  },
}

const rows = [...tableOf(page, 'the mistake').keys()]

it('the page lists each mistake that nothing tells', () => {
  expect(rows).toHaveLength(Object.keys(OUTCOMES).length)
})

it.each(Object.entries(OUTCOMES))('nothing tells this mistake: %s', async (words, happens) => {
  expect(rows.filter((row) => row.includes(words))).toHaveLength(1)
  await happens()
})
