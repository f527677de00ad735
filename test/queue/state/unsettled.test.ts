import { createLimiter, dailyCap, manualClock } from '@sluice/core'
import { memory } from '@sluice/core/memory'
import { countJobs, limitedQueue, work } from '@sluice/queue'
import { expect, it } from 'vitest'
import { collectProblems } from '../../support/limiters.ts'
import { operationOf, TURN } from '../../../packages/queue/dist/state/operations.js'
import type { Result } from '../../../packages/queue/dist/state/requests.js'

it('a job that can never be settled is reported once, and leaves the queue', async () => {
  const { problems, listener } = collectProblems()
  const [store, clock] = [memory(), manualClock(Date.UTC(2026, 0, 15))]
  const limiter = createLimiter({
    store,
    clock,
    policies: [dailyCap({ name: 'daily', limit: 100, per: ['tenant'] })],
    extensions: [listener],
  })
  const queue = limitedQueue(limiter, { name: 'q' })
  const { id } = await queue.add('data', { subject: { tenant: 'acme' } })
  const turn = (most: number, results: readonly Result[]) => {
    const options = { leaseMs: 30_000, maxAttempts: 5, keepDeadMs: 60_000 }
    const time = { now: clock(), clockIsInjected: true }
    return store.run(operationOf(TURN, 'q', { most, results, ...options, ...time }))
  }
  // A worker of another version has run it, and died before it settled it.
  await turn(1, [])
  await turn(0, [
    { kind: 'done', id, claim: 1, settlement: '{"used":{},"units":{"is":"unknown"}}' },
  ])
  expect(await countJobs(queue)).toMatchObject({ running: 1 })
  clock.advance(30_000)
  await work(queue, () => {}, { untilIdle: true }).ended
  expect(problems.map(({ code }) => code)).toEqual(['reservation_lost'])
  expect(await countJobs(queue)).toMatchObject({ waiting: 0, running: 0, failed: 0 })
})
