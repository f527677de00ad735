import {
  createLimiter,
  concurrency,
  dailyCap,
  defineExtension,
  leakyBucket,
  type LimiterEvents,
  type Store,
} from '@sluice/core'
import { memory } from '@sluice/core/memory'
import { limitedQueue, work } from '@sluice/queue'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { Watched } from '../support/watched-store.ts'

const acme = { tenant: 'acme' }

/** A store that keeps its first decision back until `answer` is called. */
class Slow extends Watched {
  answer = (): void => {}
  tellAsked = (): void => {}
  readonly asked = new Promise<void>((resolve) => (this.tellAsked = resolve))

  override async check(...[request]: Parameters<Store['check']>): ReturnType<Store['check']> {
    const checked = super.check(request)
    if (this.calls.decisions === 1) {
      await new Promise<void>((resolve) => {
        this.answer = resolve
        this.tellAsked()
      })
    }
    return checked
  }
}

beforeEach(() => void vi.useFakeTimers({ toFake: ['Date'] }))
afterEach(() => void vi.useRealTimers())

describe('a job with a lease of six seconds, none of which was renewed', () => {
  it.each([
    [2_900, 'begins', 1],
    [3_100, 'begins once it has another lease', 2],
    [6_100, 'begins once it has another lease', 2],
  ])('%d ms after its claim %s', async (ms, _, decisions) => {
    const store = new Slow(memory())
    const told: LimiterEvents['job'][] = []
    const job = (event: LimiterEvents['job']) => void told.push(event)
    const limiter = createLimiter({
      store,
      extensions: [defineExtension({ name: 'jobs', connect: () => ({ on: { job } }) })],
      policies: [
        dailyCap({ name: 'daily', limit: 100, per: ['tenant'], unit: 'token' }),
        concurrency({ name: 'inFlight', limit: 5, per: ['tenant'] }),
      ],
    })
    const queue = limitedQueue(limiter, { name: 'q', lease: '6s' })
    await queue.add('data', { subject: acme, cost: { token: 10 } })
    let ran = 0
    const worker = work(queue, () => void (ran += 1), { untilIdle: true })
    await store.asked
    vi.setSystemTime(Date.now() + ms)
    store.answer()
    await worker.ended
    expect([ran, store.calls.decisions]).toEqual([1, decisions])
    const { policies } = await limiter.peek(acme, { cost: { token: 0 } })
    expect(policies.map(({ remaining }) => remaining)).toEqual([90, 5])
    // That it begins is told when it does, so once, and with all the time that it has waited.
    expect(told).toMatchObject([{ outcome: 'begun', waitedMs: ms }, { outcome: 'done' }])
  })
})

/** A store after whose second decision a machine stands still for so long. */
class Paused extends Watched {
  override async check(...[request]: Parameters<Store['check']>): ReturnType<Store['check']> {
    const reply = await super.check(request)
    if (this.calls.decisions === 2) setImmediate(() => vi.setSystemTime(Date.now() + 6_100))
    return reply
  }
}

it('a job whose lease ends while a limit delays it begins once it has another', async () => {
  const store = new Paused(memory())
  const limiter = createLimiter({
    store,
    policies: [
      leakyBucket({ name: 'turns', limit: 1, window: '50ms', burst: 10, per: ['tenant'] }),
      concurrency({ name: 'inFlight', limit: 5, per: ['tenant'] }),
    ],
  })
  await limiter.check(acme)
  const queue = limitedQueue(limiter, { name: 'q', lease: '6s' })
  await queue.add('data', { subject: acme })
  let ran = 0
  await work(queue, () => void (ran += 1), { untilIdle: true }).ended
  expect([ran, store.calls.decisions]).toEqual([1, 3])
})
