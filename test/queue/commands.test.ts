import { readFileSync } from 'node:fs'
import { createLimiter, slidingWindow } from '@sluice/core'
import { limitedQueue, work } from '@sluice/queue'
import { expect, it } from 'vitest'
import { tableOf } from '../support/markdown.ts'
import { ownRedisOverHttp } from '../support/running-redis.ts'

// Every command on this Redis is counted, so it is shared with nobody.
const own = ownRedisOverHttp()

const page = readFileSync(new URL('../../docs/queue.md', import.meta.url), 'utf8')
const published = tableOf(page, 'billed commands')

const acme = { tenant: 'acme' }
const common = { limit: 1_000, window: '1h', per: ['tenant'] } as const

function setUp() {
  const limiter = createLimiter({
    store: own.store(),
    policies: [slidingWindow({ name: 'tpm', unit: 'token', ...common })],
  })
  const queue = limitedQueue(limiter, { name: 'q', parse: (data) => data as number })
  const add = (count: number, cost = 10) =>
    queue.addAll(
      Array.from({ length: count }, (_, at) => ({
        data: at,
        subject: acme,
        cost: { token: cost },
      })),
    )
  const drain = async () => {
    await work(queue, () => ({ token: 5 }), { untilIdle: true }).ended
  }
  return { queue, add, drain }
}

/** Requests to the store, and billed commands. */
async function costOf(act: () => Promise<unknown>) {
  const before = own.local.requests
  const { total } = await own.meter.measure(act)
  return { requests: own.local.requests - before, commands: total }
}

/** Expects that the page states these figures. */
function expectPublished(
  what: string,
  { requests, commands }: { requests: number; commands: number },
) {
  const row = published.get(what)
  expect({
    requests: Number(row?.['HTTP requests']),
    commands: Number(row?.['billed commands']),
  }).toEqual({
    requests: Math.round(requests * 100) / 100,
    commands: Math.round(commands * 100) / 100,
  })
}

it('the page states what an idle queue, and each part of a job, costs', async () => {
  const { queue, add, drain } = setUp()
  // Loads the scripts.
  await add(1)
  await drain()
  expectPublished('a look at an idle queue', await costOf(drain))
  expectPublished('`add`', await costOf(() => add(1)))
  expectPublished('one job by itself, from its claim on', await costOf(drain))
  const hundred = await costOf(() => add(100))
  expectPublished('each of 100 jobs in `addAll`', {
    requests: hundred.requests / 100,
    commands: hundred.commands / 100,
  })
  await add(1, 1_001 - 0)
  const all = await costOf(drain)
  expect(all.requests / 101).toBeLessThan(4)
  void queue
})
