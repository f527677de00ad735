import { readFileSync } from 'node:fs'
import { createLimiter } from '@sluice/core'
import { describe, expect, it } from 'vitest'
import type { Metered } from '../support/command-meter.ts'
import { tableOf } from '../support/markdown.ts'
import { both, MEASURED } from './outcomes.ts'
import { ACME, own } from './support.ts'

const page = readFileSync(new URL('../../docs/performance.md', import.meta.url), 'utf8')

/** Outcomes that take the same commands, by their row on the page. */
const SHARED: readonly (readonly [row: string, outcomes: RegExp])[] = [
  ['first of the day, or in a window', /^first /],
  [
    'denied by the daily cap, or for ever; peek',
    /^denied by the daily cap$|^denied for ever|^peek$/,
  ],
  ['settle at the estimate, or again', /^settle at |^settle again$/],
  ['one string, allowed, 30 a minute', /^a (?!project).*, allowed/],
  ['one string, denied', /^a (?!project).*, denied$/],
  ['settle one string below the estimate', /^settle a /],
]
const rowOf = (outcome: string): string =>
  SHARED.find(([, outcomes]) => outcomes.test(outcome))?.[0] ?? outcome

const rounded = (value: number): number => Math.round(value * 100) / 100

describe('Redis commands per decision', () => {
  const published = tableOf(page, 'outcome')
  const measured = new Map<string, Metered>()

  it.each(Object.entries(MEASURED))(
    '%s: the page states the measured number',
    async (outcome, act) => {
      const metered = await act()
      measured.set(outcome, metered)
      const { commands, writes } = published.get(rowOf(outcome)) ?? {}
      expect({ commands: rounded(metered.total), writes: rounded(metered.writes) }).toEqual({
        commands: Number(commands),
        writes: Number(writes),
      })
    },
  )

  it('the page lists no other outcome', () => {
    const rows = new Set(Object.keys(MEASURED).map(rowOf))
    expect([...published.keys()].toSorted()).toEqual([...rows].toSorted())
  })

  it('an allowed decision has at most 7 on average, a denied one at most 5 and no write', () => {
    const of = (pattern: RegExp): Metered[] =>
      Array.from(measured).flatMap(([outcome, metered]) => (pattern.test(outcome) ? [metered] : []))
    for (const { total } of of(/^allowed, (?!one every 2.5)/)) expect(total).toBeLessThanOrEqual(7)
    for (const { total } of of(/^denied|^one policy, denied|^peek/))
      expect(total).toBeLessThanOrEqual(5)
    for (const { writes } of of(/denied|peek/)) expect(writes).toBe(0)
    for (const { total } of of(/^a .*, allowed/)) expect(total).toBeLessThanOrEqual(6.02)
    for (const { total } of of(/^a .*, denied(?!, a cost)/)) expect(total).toBeLessThanOrEqual(5)
    expect(measured.size).toBe(Object.keys(MEASURED).length)
  })

  it('by the clock of Redis each has one TIME more and no other difference', async () => {
    const store = own.store()
    const limiter = createLimiter({ store, policies: both })
    await limiter.peek(ACME)
    const first = await own.meter.measure(() => limiter.check(ACME))
    expect(Object.fromEntries(first.calls)).toEqual({
      evalsha: 1,
      time: 1,
      get: 1,
      zrange: 1,
      set: 1,
      zadd: 1,
      pexpire: 1,
    })
    const second = await own.meter.measure(() => limiter.check(ACME))
    expect(Object.fromEntries(second.calls)).toEqual({
      evalsha: 1,
      time: 1,
      get: 1,
      zrange: 1,
      set: 1,
      zadd: 1,
    })
  })
})
