import { limitedQueue, work } from '@sluice/queue'
import { expect, it, vi } from 'vitest'
import { ACME } from '../support/limiters.ts'
import type { Loss } from '../support/losing-store.ts'
import { heardBy, ledgerOf, minusFirst, setUp } from '../usage/heard.ts'

const COST = { usd: 40_000, token: 4_000 }
const USED = { usd: 7_000, token: 700 }

it.each<[string, Loss[]]>([
  ['a settlement', [undefined, 'request']],
  ['the reply to a settlement', [undefined, 'reply']],
  ['the reply to a settlement and the next request', [undefined, 'reply', 'request']],
  ['a decision', ['request']],
  ['the reply to a decision', ['reply']],
  [
    'the reply to a decision, and all attempts to cancel it',
    ['reply', 'request', 'request', 'request'],
  ],
])('a job is told once, as it is charged, if the store loses %s', async (_, losses) => {
  vi.spyOn(console, 'error').mockImplementation(() => {})
  const { clock, losing, limiter, heard } = await setUp('deny')
  const queue = limitedQueue(limiter, { name: 'q', backoff: '1ms' })
  await queue.add('data', { subject: ACME, cost: COST })
  losing.lose(losses)
  const done = vi.fn<() => typeof USED>(() => USED)
  const worker = work(queue, done)
  await vi.waitFor(async () => {
    // Without the store, the queue waits before it tries the job again.
    clock.advance(500)
    expect(minusFirst(await ledgerOf(limiter, 'acme'))).toEqual(USED)
    expect(losing.left).toEqual([])
  }, 30_000)
  await worker.stop()
  expect(done).toHaveBeenCalledOnce()
  expect(await heard()).toEqual(heardBy(USED))
  vi.restoreAllMocks()
})
