import {
  createLimiter,
  dailyCap,
  slidingWindow,
  tokenBucket,
  type Limiter,
  type Store,
} from '@sluice/core'
import { configure, readConfiguration, runtimeConfiguration } from '@sluice/core/configuration'
import { fairShare } from '@sluice/core/fair-share'
import { file } from '@sluice/core/file'
import { memory } from '@sluice/core/memory'
import { reserve } from '@sluice/core/reservations'
import * as fs from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { ACME } from '../../support/limiters.ts'
import { NOON } from '../../support/times.ts'
import {
  allowedOf,
  capped,
  killAfter,
  linesOf,
  ownFolders,
  remaining,
  restart,
  startFlood,
} from './support.ts'

const folderOf = ownFolders()
const per = ['tenant'] as const

beforeEach(() => {
  restart()
  vi.spyOn(console, 'warn').mockImplementation(() => {})
})
afterEach(() => {
  restart()
  vi.restoreAllMocks()
})

describe('what is kept', () => {
  it('is counted on after a restart', async () => {
    const folder = folderOf()
    expect(await allowedOf(capped(folder), 3)).toBe(3)
    restart()
    expect(await allowedOf(capped(folder), 200)).toBe(2)
  })

  it('is shared by the limiters of a process, however they write the folder', async () => {
    const folder = folderOf()
    const both = [capped(folder), capped(join(folder, '..', '.sluice'))] as const
    const allowed = await Promise.all(both.map((made) => allowedOf(made, 100)))
    expect((allowed[0] ?? 0) + (allowed[1] ?? 0)).toBe(5)
  })

  it('is what a process in memory would have, whenever it restarts', async () => {
    const folder = folderOf()
    const policies = [
      slidingWindow({ name: 'minute', limit: 40, window: '1m', per }),
      slidingWindow({ name: 'hour', limit: 900, window: '1h', per: ['tenant', 'user'] }),
      tokenBucket({ name: 'tokens', limit: 9_000, window: '1h', unit: 'token', per }),
      fairShare(slidingWindow({ name: 'fair', limit: 500, window: '1h', per: 'global' }), {
        between: per,
      }),
    ]
    let now = NOON
    const make = (store: Store) =>
      createLimiter({ store, policies, clock: () => now, onStoreError: 'deny' })
    const inMemory = memory()
    for (let call = 0; call < 600; call += 1) {
      now += (call * 7_919) % 3_000
      const subject = { tenant: `t${call % 3}`, user: `u${call % 5}` }
      // A limiter knows what its own open calls hold: after a restart there are none.
      const answers = [make(inMemory), make(file(folder))].map(async (limiter) => {
        const made = await reserve(limiter, subject, { cost: { token: 100 } })
        if (made.allowed && call % 2 === 0) await made.settle({ token: (call * 31) % 150 })
        return { allowed: made.allowed, states: made.policies }
      })
      const [expected, answer] = await Promise.all(answers)
      expect(answer).toEqual(expected)
      if (call % 20 === 0) restart()
    }
  })

  it('includes a configuration', async () => {
    const folder = folderOf()
    const make = () =>
      createLimiter({
        store: file(folder),
        policies: [dailyCap({ name: 'daily', limit: 5, per })],
        extensions: [runtimeConfiguration({ allow: { daily: ['limit'] } })],
      })
    await configure(make(), { daily: { limit: 3 } })
    restart()
    expect(await readConfiguration(make())).toMatchObject([{ settings: { limit: 3 } }])
  })

  it('becomes a snapshot when the changes are long, and nothing is lost', async () => {
    const folder = folderOf()
    const count = 4_000
    expect(await allowedOf(capped(folder, 10_000), count)).toBe(count)
    expect(linesOf(folder).length).toBeLessThan(count)
    restart()
    expect(await remaining(capped(folder, 10_000).limiter)).toBe(10_000 - count)
  })
})

describe('what is written', () => {
  it('is nothing for a denial or a peek', async () => {
    const folder = folderOf()
    expect(await allowedOf(capped(folder), 9)).toBe(5)
    const before = linesOf(folder)
    expect(await allowedOf(capped(folder), 9)).toBe(0)
    await remaining(capped(folder).limiter)
    expect(linesOf(folder)).toEqual(before)
    expect(before).toHaveLength(5)
  })

  it('is there before a decision is answered', async () => {
    const folder = folderOf()
    const { limiter } = capped(folder)
    for (let check = 1; check <= 3; check += 1) {
      await limiter.check(ACME)
      expect(linesOf(folder)).toHaveLength(check)
    }
  })

  it('is nothing before the first decision', () => {
    const folder = folderOf()
    capped(folder)
    expect(fs.existsSync(folder)).toBe(false)
  })

  it('may end within a line, which is left out', async () => {
    const folder = folderOf()
    await allowedOf(capped(folder), 2)
    const [, last = ''] = linesOf(folder)
    restart()
    fs.appendFileSync(join(folder, 'counts.jsonl'), last.slice(0, 40))
    expect(await remaining(capped(folder).limiter)).toBe(3)
    expect(await allowedOf(capped(folder), 1)).toBe(1)
    restart()
    expect(await remaining(capped(folder).limiter)).toBe(2)
  })
})

it('a process that is killed has counted all that it has allowed, and never more than the limit', async () => {
  const folder = folderOf()
  const limit = 3_000
  const counting = (): Limiter =>
    createLimiter({
      store: file(folder),
      policies: [slidingWindow({ name: 'hours', limit, window: '9h', per })],
    })
  let allowed = 0
  let counted = 0
  for (let kills = 0; kills < 3; kills += 1) {
    allowed += await killAfter(startFlood(folder), 700)
    counted = limit - ((await remaining(counting())) ?? 0)
    expect(counted).toBeGreaterThanOrEqual(allowed)
    restart()
  }
  expect(allowed).toBeGreaterThan(2_000)
  // The last is not killed.
  allowed += await killAfter(startFlood(folder), Infinity)
  expect([await remaining(counting()), allowed <= limit]).toEqual([0, true])
  // Those between were written, but not answered.
  expect(limit - allowed).toBeLessThanOrEqual(3 * 200)
})

it('says once for which it is', async () => {
  restart({ isNoted: false })
  const said = vi.mocked(console.warn)
  for (const made of [capped(folderOf()), capped(folderOf())]) await allowedOf(made, 2)
  expect(said.mock.calls).toEqual([[expect.stringMatching(/this process alone.* by upstash\(\)/)]])
})

it.each([[undefined], [''], [5]])('%s is no folder', (path) => {
  expect(() => file(path as string)).toThrow(/file\.path: must be the path of a folder, such as/)
})
