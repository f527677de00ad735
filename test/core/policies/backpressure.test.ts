import { backpressure, slidingWindow, type Policy } from '@sluice/core'
import { describe, expect, it } from 'vitest'
import { ACME, setUp } from '../../support/limiters.ts'

const rpm = (options: object): Policy =>
  slidingWindow({ name: 'rpm', limit: 100, window: '1m', per: ['tenant'], ...options })

async function delays(policies: Policy[], times: number): Promise<number[]> {
  const { limiter } = setUp(policies)
  const found: number[] = []
  for (let time = 0; time < times; time += 1) found.push((await limiter.check(ACME)).delayMs)
  return found
}

describe('backpressure', () => {
  it('delays nothing up to 80 % of the limit, then ever more, to 2 s at the limit', async () => {
    const found = await delays([rpm({ backpressure: backpressure() })], 101)
    expect(found.slice(0, 80)).toEqual(Array.from({ length: 80 }, () => 0))
    expect(found.slice(80, 100)).toEqual(Array.from({ length: 20 }, (_, n) => (n + 1) * 100))
    expect(found[100]).toBe(0)
  })
  it('begins and ends as configured', async () => {
    const found = await delays(
      [rpm({ backpressure: backpressure({ from: 0.5, maxMs: 500 }) })],
      100,
    )
    expect([found[49], found[50], found[74], found[99]]).toEqual([0, 10, 250, 500])
  })
  it('is the same in a peek as in a check', async () => {
    const policies = [rpm({ limit: 10, backpressure: backpressure({ from: 0, maxMs: 1_000 }) })]
    const { limiter } = setUp(policies)
    for (let time = 0; time < 10; time += 1) {
      const { delayMs } = await limiter.peek(ACME)
      expect((await limiter.check(ACME)).delayMs).toBe(delayMs)
    }
    expect((await limiter.peek(ACME)).delayMs).toBe(0)
  })
  it('uses the longest delay of several policies, and none of a policy in shadow mode', async () => {
    const name = 'slow'
    const slow = rpm({ name, limit: 10, backpressure: backpressure({ from: 0, maxMs: 1_000 }) })
    expect(
      await delays([rpm({ backpressure: backpressure({ from: 0, maxMs: 100 }) }), slow], 3),
    ).toEqual([100, 200, 300])
    const shadow = rpm({ mode: 'shadow', backpressure: backpressure({ from: 0 }) })
    expect(await delays([shadow], 3)).toEqual([0, 0, 0])
  })
})
