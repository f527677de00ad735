import { rateLimit } from '@sluice/core/http'
import { expect, it, vi } from 'vitest'
import { block, cleanUp, requestFrom, START, stillClock } from './page.ts'

cleanUp()
stillClock()

const ADDRESS = '192.0.2.7'
const subject = () => ({ address: ADDRESS })

it('the adapters let a queue go on in turn, as nginx does, and refuse requests when it is full', async () => {
  vi.useFakeTimers({ now: START })
  const { limiter } = await block('queue')
  const gone: number[] = []
  const handle = () => {
    gone.push(Date.now() - START)
    return new Response('answer')
  }
  const serve = rateLimit(limiter, { routes: ['/**'], subject }, handle)
  const answers = Promise.all(Array.from({ length: 23 }, () => serve(requestFrom(ADDRESS))))
  await vi.runAllTimersAsync()
  const statuses = (await answers).map(({ status }) => status)
  expect(statuses.filter((status) => status === 429)).toHaveLength(2)
  expect(gone).toEqual(Array.from({ length: 21 }, (_, turn) => turn * 100))
})
