import { dailyCap, slidingWindows } from '@sluice/core'
import { memory } from '@sluice/core/memory'
import type { Settled } from '@sluice/core/reservations'
import { describe, expect, it } from 'vitest'
import { ACME, setUp } from '../../support/limiters.ts'
import { ownRedis } from '../../support/running-redis.ts'
import { freshPrefix } from '../../support/stores.ts'
import { mustReserve } from './support.ts'

/** The most members that are rewritten to correct one of them. */
const MOST = 512

const own = ownRedis()
const common = { per: ['tenant'], unit: 'token' } as const
const windows = {
  minute: { limit: 100_000, window: '1m' },
  day: { limit: 1_000_000, window: '1d' },
} as const
const log = slidingWindows({ name: 'log', windows, ...common })

/** A reservation of 100 tokens, and then so many charges of one token, in memory and in Redis. */
async function crowded(later: number) {
  return Promise.all(
    [memory(), own.store(freshPrefix())].map(async (store) => {
      const { limiter, clock } = setUp([log], { store })
      const decision = await mustReserve(limiter, ACME, { cost: { token: 100 } })
      const one = () => limiter.check(ACME, { cost: { token: 1 } })
      for (let made = 0; made < later; made += 100) {
        clock.advance(1)
        await Promise.all(Array.from({ length: Math.min(100, later - made) }, one))
      }
      const left = async (): Promise<number | undefined> =>
        (await limiter.peek(ACME, { cost: { token: 0 } })).policies[0]?.remaining
      expect(await left()).toBe(100_000 - 100 - later)
      return { decision, left, limiter }
    }),
  )
}

/** The commands that Redis runs inside scripts during `act`, as lists of words. */
async function commandsOf(act: () => Promise<unknown>): Promise<string[][]> {
  const monitor = await own.redis.monitor()
  const commands: string[][] = []
  monitor.on('monitor', (_time, words: string[], source: string) => {
    if (source === 'lua') commands.push(words)
  })
  await act()
  // All of it has been told when this has.
  const mark = freshPrefix()
  const isTold = new Promise<void>((resolve) => {
    monitor.on('monitor', (_time, words: string[]) => {
      if (words[1] === mark) resolve()
    })
  })
  await own.redis.echo(mark)
  await isTold
  monitor.disconnect()
  return commands
}

describe('a reservation in a log', () => {
  it(`with ${MOST - 1} later members is corrected where it is`, async () => {
    for (const { decision, left } of await crowded(MOST - 1)) {
      const done = await decision.settle({ token: 30 })
      expect(done).toEqual({ applied: true, returned: { token: 70 }, overrun: {} })
      expect(await left()).toBe(100_000 - 30 - (MOST - 1))
    }
  })

  it(`with ${MOST} later members gives nothing back, and says so`, async () => {
    for (const { decision, left } of await crowded(MOST)) {
      expect(await decision.settle({ token: 30 })).toEqual({
        applied: true,
        returned: {},
        overrun: {},
      })
      expect(await left()).toBe(100_000 - 100 - MOST)
    }
  })

  it(`with 10,000 later members rewrites at most ${MOST} of them, whichever way it is settled`, async () => {
    const [inMemory, inRedis] = await crowded(10_000)
    if (inMemory === undefined || inRedis === undefined) throw new Error('There are two stores')
    for (const tokens of [0, 130, 90]) {
      for (const { decision, left, limiter } of [inMemory, inRedis]) {
        const before = (await left()) ?? 0
        const isFirst = tokens === 0
        const call = isFirst ? decision : await mustReserve(limiter, ACME, { cost: { token: 100 } })
        const settled: Settled[] = []
        const commands = await commandsOf(async () => {
          settled.push(await call.settle({ token: tokens }))
        })
        const [{ returned, overrun }] = settled as [Settled]
        const more = (overrun['token'] ?? 0) - (returned['token'] ?? 0)
        expect(more).toBe(isFirst ? 0 : tokens - 100)
        expect(await left()).toBe(before - (isFirst ? 0 : 100) - more)
        const rewritten = commands
          .filter(([name = '']) => /^z(add|rem)$/i.test(name))
          .flatMap((words) => words.slice(2))
        // A score and a member of each, and the members that they replace.
        expect(rewritten.length).toBeLessThanOrEqual(3 * MOST)
        expect(JSON.stringify(commands).length).toBeLessThan(100 * MOST)
      }
    }
  })

  it('is charged use beyond its estimate now if it has too many later members', async () => {
    for (const { decision, left } of await crowded(MOST)) {
      const done = await decision.settle({ token: 140 })
      expect(done).toEqual({ applied: true, returned: {}, overrun: { token: 40 } })
      expect(await left()).toBe(100_000 - 140 - MOST)
    }
  })

  it('is corrected in the other policies if it cannot be corrected in the log', async () => {
    const budget = dailyCap({ name: 'budget', limit: 100_000, ...common })
    const { limiter } = setUp([budget, log], { store: own.store() })
    const decision = await mustReserve(limiter, ACME, { cost: { token: 100 } })
    for (let made = 0; made < MOST; made += 1) await limiter.check(ACME, { cost: { token: 1 } })
    expect((await decision.settle({ token: 30 })).returned).toEqual({ token: 70 })
    const { policies } = await limiter.peek(ACME, { cost: { token: 0 } })
    expect(policies.map(({ remaining }) => remaining)).toEqual([
      100_000 - 30 - MOST,
      100_000 - 100 - MOST,
      1_000_000 - 100 - MOST,
    ])
  })
})
