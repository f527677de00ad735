import { readFileSync } from 'node:fs'
import { createLimiter } from '@sluice/core'
import { describe, expect, it } from 'vitest'
import type { Metered } from '../support/command-meter.ts'
import { tableOf } from '../support/markdown.ts'
import { both, MEASURED } from './outcomes.ts'
import { ACME, own } from './support.ts'

const page = readFileSync(new URL('../../docs/performance.md', import.meta.url), 'utf8')

const rounded = (value: number): number => Math.round(value * 100) / 100

describe('Redis commands per decision', () => {
  const published = tableOf(page, 'outcome')
  const measured = new Map<string, Metered>()

  it.each(Object.entries(MEASURED))(
    '%s: the page states the measured number',
    async (outcome, act) => {
      const metered = await act()
      measured.set(outcome, metered)
      const { commands, writes } = published.get(outcome) ?? {}
      expect({ commands: rounded(metered.total), writes: rounded(metered.writes) }).toEqual({
        commands: Number(commands),
        writes: Number(writes),
      })
    },
  )

  it('the page lists no other outcome', () => {
    expect([...published.keys()].toSorted()).toEqual(Object.keys(MEASURED).toSorted())
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
    expect(measured.size).toBe(published.size)
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
