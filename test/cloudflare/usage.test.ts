import { inject, afterAll, beforeAll, expect, it, vi } from 'vitest'
import { randomUUID } from 'node:crypto'
import type { Redis } from 'ioredis'
import { connect } from '../support/redis.ts'
import { startWorker, type TestWorker } from './support.ts'

const PREFIX = `workers-${randomUUID()}`
let worker: TestWorker
let redis: Redis

beforeAll(async () => {
  worker = await startWorker('usage', { PREFIX })
  redis = connect(inject('redisUrl'))
})
afterAll(async () => {
  redis.disconnect()
  await worker[Symbol.asyncDispose]()
})

const ask = (): Promise<Response> =>
  fetch(new URL('/', worker.url), { headers: { 'x-tenant': 'acme' } })

/** The values of the day's cells, by the letter of their family, without those of quarter-hours. */
async function cells(): Promise<Record<string, string>> {
  const [day = ''] = await redis.keys(`${PREFIX}:usage:day:*`)
  const hash = day === '' ? {} : await redis.hgetall(day)
  const values = Object.entries(hash).map(([name, value]): [string, string] => {
    const family = name.slice(0, 1)
    return [family, family === 'a' ? value.split(',').slice(0, 3).join(',') : value]
  })
  return Object.fromEntries(values)
}

it('a Worker saves what its requests have counted after their responses, settled', async () => {
  const answers = await Promise.all([ask(), ask(), ask()])
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200])
  // Requests, tokens and dollars; of the policy: requests, units, and nothing denied.
  const saved = { a: '3,12,0', p: '3,12,0,0,0,0,0' }
  await vi.waitFor(async () => expect(await cells()).toEqual(saved), { timeout: 30_000 })
})
