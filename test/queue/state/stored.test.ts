import { expect, it } from 'vitest'
import { ADD, operationOf, TURN } from '../../../packages/queue/dist/state/operations.js'
import type { QueueRequest, Result } from '../../../packages/queue/dist/state/requests.js'
import { sharedRedis } from '../../support/running-redis.ts'
import { freshPrefix } from '../../support/stores.ts'

const shared = sharedRedis()
const NOW = 1_768_435_200_000
const TERMS = { leaseMs: 1_000, maxAttempts: 1, keepDeadMs: 2_000 }
const at = (ms: number): string => String(NOW + ms)

/** Kept by Redis after this history. A release that writes anything else cannot read the queues of those before it. */
const STORED = {
  meta: {
    'f:of-back': 'p 0',
    'f:of-failed': 'e 10',
    'f:of-ran': 'e 10',
    'f:of-runs': 'e 10',
    'f:of-waits': 'a 0',
    l: '1',
    r: '1',
    s: '1',
    seq: '6',
  },
  order: ['of-waits', '0'],
  waiting: ['of-back|5000000000000004|back', 'of-waits|9000000000000006|waits'],
  timers: [
    ['rruns', at(1_000)],
    ['sran', at(1_000)],
    ['gfailed', at(2_000)],
    ['llater', at(3_000)],
    ['xwaits', at(4_000)],
    ['pof-back', at(5_000)],
    ['fof-failed', at(60_000)],
    ['fof-ran', at(60_000)],
    ['fof-runs', at(60_000)],
  ].flat(),
  states: {
    back: 'w|5|000000000000004|10|1|0|2|0|of-back|',
    failed: 'd|5|000000000000003|10|1|1|2|0|of-failed|failed no',
    later: 'l|5|000000000000005|10|0|0|1|0|of-later|',
    ran: 's|5|000000000000002|10|1|1|1|0|of-ran|to settle',
    runs: 'r|5|000000000000001|10|1|1|1|0|of-runs|',
    waits: `w|9|000000000000006|10|0|0|1|${at(4_000)}|of-waits|`,
  },
  dead: ['failed', at(0)],
}

const NEW_JOB = { length: 10, priority: 5, delayMs: 0, waitMs: 0 }
const job = (id: string, more: object = {}) => ({
  ...NEW_JOB,
  id,
  flow: `of-${id}`,
  payload: id,
  ...more,
})

it('keeps jobs, lines and timers in Redis by the letters that earlier releases have written', async () => {
  const prefix = freshPrefix()
  const store = shared.store(prefix)
  const data: QueueRequest = { now: NOW, clockIsInjected: true }
  const turn = (results: Result[], most: number) =>
    store.run(operationOf(TURN, 'q', { ...data, ...TERMS, results, most }))
  const jobs = ['runs', 'ran', 'failed', 'back'].map((id) => job(id))
  const others = [job('later', { delayMs: 3_000 }), job('waits', { priority: 9, waitMs: 4_000 })]
  await store.run(operationOf(ADD, 'q', { ...data, maxJobs: 10, jobs: [...jobs, ...others] }))
  await turn([], 4)
  const results: Result[] = [
    { kind: 'done', id: 'ran', claim: 1, settlement: 'to settle' },
    { kind: 'failed', id: 'failed', claim: 1, delayMs: 0, isFinal: true, held: '', error: 'no' },
    { kind: 'back', id: 'back', claim: 1, who: 'flow', delayMs: 5_000, isClean: true, held: '' },
  ]
  await turn(results, 0)
  const { redis } = shared
  const keyOf = (part: string): string => `${prefix}:queue:q:${part}`
  expect({
    meta: await redis.hgetall(keyOf('meta')),
    order: await redis.zrange(keyOf('order'), 0, -1, 'WITHSCORES'),
    waiting: await redis.zrange(keyOf('waiting'), 0, -1),
    timers: await redis.zrange(keyOf('timers'), 0, -1, 'WITHSCORES'),
    states: await redis.hgetall(keyOf('states')),
    dead: await redis.zrange(keyOf('dead'), 0, -1, 'WITHSCORES'),
  }).toEqual(STORED)
})
