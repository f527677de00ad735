import { readFileSync } from 'node:fs'
import { createLimiter, slidingWindow } from '@sluice/core'
import { limitedQueue, work } from '@sluice/queue'
import { expect, it } from 'vitest'
import { tableOf } from '../../support/markdown.ts'
import { ownRedisOverHttp } from '../../support/running-redis.ts'

// Every command on this Redis is counted, so it is shared with nobody.
const own = ownRedisOverHttp()

const page = readFileSync(new URL('../../../docs/queue.md', import.meta.url), 'utf8')
const published = tableOf(page, 'queue')

const acme = { tenant: 'acme' }
const common = { limit: 1_000, window: '1h', per: ['tenant'] } as const

function setUp() {
  const limiter = createLimiter({
    store: own.store(),
    policies: [slidingWindow({ name: 'tpm', unit: 'token', ...common })],
  })
  const queue = limitedQueue(limiter, { name: 'q', parse: (data) => data as number })
  const add = (count: number) =>
    queue.addAll(
      Array.from({ length: count }, (_, at) => ({
        data: at,
        subject: acme,
        cost: { token: 10 },
      })),
    )
  const drain = async () => {
    await work(queue, () => ({ token: 5 }), { untilIdle: true }).ended
  }
  return { add, drain }
}

/** Requests to the store, and billed commands. */
async function costOf(act: () => Promise<unknown>) {
  const before = own.local.requests
  const { total } = await own.meter.measure(act)
  return { requests: own.local.requests - before, commands: total }
}

/** The figures that the page states. */
function stated(what: string): { requests: number; commands: number } {
  const row = published.get(what)
  return {
    requests: Number(row?.['HTTP requests']),
    commands: Number(row?.['billed commands']),
  }
}

it('the page states what an idle queue, and each part of a job, costs', async () => {
  const { add, drain } = setUp()
  // Loads the scripts.
  await add(1)
  await drain()
  expect(await costOf(drain)).toEqual(stated('a look at an idle queue'))
  expect(await costOf(() => add(1))).toEqual(stated('`add`'))
  expect(await costOf(drain)).toEqual(stated('one job by itself, from its claim on'))
  const hundred = await costOf(() => add(100))
  const each = { requests: hundred.requests / 100, commands: hundred.commands / 100 }
  expect(each).toEqual(stated('each of 100 jobs in `addAll`'))
})
