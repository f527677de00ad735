import { readFileSync } from 'node:fs'
import { manualClock } from '@sluice/core'
import { flushUsage } from '@sluice/usage'
import { expect, it } from 'vitest'
import { tableOf } from '../../support/markdown.ts'
import { ownRedis } from '../../support/running-redis.ts'
import { freshPrefix } from '../../support/stores.ts'
import { NOON } from '../../support/times.ts'
import { recording } from '../support.ts'

const page = readFileSync(new URL('../../../docs/usage.md', import.meta.url), 'utf8')
const published = tableOf(page, 'flush')
const own = ownRedis()
const DAY_MS = 86_400_000

it('a flush takes the commands that the page states, for one cell and for hundreds', async () => {
  const clock = manualClock(NOON)
  const { limiter } = recording(undefined, { store: own.store(), clock })
  const count = async (tenants: readonly string[]): Promise<void> => {
    for (const tenant of tenants) await limiter.check({ tenant }, { cost: { token: 1 } })
  }
  const flush = async (): Promise<number> =>
    (await own.meter.measure(() => flushUsage(limiter))).total
  await count(['acme'])
  await flush()

  clock.advance(DAY_MS)
  const many = Array.from({ length: 80 }, (_, index) => `tenant-${index}`)
  await count(['acme'])
  const firstOfDay = await flush()
  await count(['globex'])
  const newCell = await flush()
  await count(['acme'])
  const sparse = await flush()
  await count(many)
  await flush()
  await count(many)
  const busy = await flush()

  const commands = [...published.values()].map((row) =>
    Number(row['Redis commands, as Upstash bills them']),
  )
  expect([busy, newCell, firstOfDay]).toEqual(commands)
  expect(sparse).toBe(busy)
  expect(await flush()).toBe(0)
})

it.each([
  ['at once', 0, ['batch 1', 'day 84', 'hour 12']],
  ['late', 90, ['batch 1', 'day 75', 'hour 3']],
  ['when the hour is no longer kept', 150, ['batch 1', 'day 69']],
  ['when neither is', 900, ['batch 1']],
])('hours and days expire after their end if saved %s', async (_, minutes, expected) => {
  const prefix = freshPrefix()
  const { limiter, clock } = recording(undefined, {
    store: own.store(prefix),
    usage: { tenants: 'plain', keepHours: '1h', keepDays: '2h' },
  })
  await limiter.check({ tenant: 'acme' }, { cost: { token: 1 } })
  clock.advance(minutes * 60_000)
  await flushUsage(limiter)
  const expiries = await own.redis.eval(
    `local found = {}
    for _, key in ipairs(redis.call('KEYS', ARGV[1])) do
      found[#found + 1] = string.match(key, ':usage:([^:]+)') .. ' ' .. math.ceil(redis.call('PTTL', key) / 600000)
    end
    table.sort(found)
    return found`,
    0,
    `${prefix}:usage:*`,
  )
  expect(expiries).toEqual(expected)
})

it('a cell takes as many bytes as the page states', async () => {
  const prefix = freshPrefix()
  const { limiter } = recording(undefined, { store: own.store(prefix), usage: {} })
  for (let tenant = 0; tenant < 250; tenant += 1) {
    const subject = { tenant: `tenant-${tenant}`, route: 'evaluate', model: 'gpt-4o' }
    await limiter.check(subject, { cost: { token: 1_000 } })
  }
  await flushUsage(limiter)
  const [key = ''] = await own.redis.keys(`${prefix}:usage:day:*`)
  const bytes =
    Number(await own.redis.memory('USAGE', key, 'SAMPLES', 0)) / (await own.redis.hlen(key))
  const stated = Number(/takes about (\d+) bytes/.exec(page)?.[1])
  expect(bytes).toBeGreaterThan(stated * 0.85)
  expect(bytes).toBeLessThan(stated * 1.15)
})
