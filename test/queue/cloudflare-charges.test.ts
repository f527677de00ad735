import { concurrency, createLimiter, fixedWindow, manualClock } from '@sluice/core'
import { memory } from '@sluice/core/memory'
import { JobError } from '@sluice/queue'
import { limitedConsumer } from '@sluice/queue/cloudflare'
import { describe, expect, it, vi } from 'vitest'
import { message, options, type Job } from './messages.ts'
import { PATIENTLY } from '../support/patience.ts'

const clock = manualClock(Date.UTC(2026, 0, 1, 12))

const charged = () => {
  const limiter = createLimiter({
    store: memory(),
    clock,
    policies: [
      fixedWindow({ name: 'daily', limit: 100, window: '1d', per: ['tenant'], unit: 'token' }),
      concurrency({ name: 'inFlight', limit: 1, per: ['tenant'] }),
    ],
  })
  const left = async () => {
    const { policies } = await limiter.peek({ tenant: 'acme' }, { cost: { token: 0 } })
    return policies.map(({ remaining }) => remaining)
  }
  return { limiter, left }
}

describe('the charge of a message', () => {
  const own = { ...options, cost: () => ({ token: 10 }) }

  it('is what its handler says, or else the estimate', async () => {
    const { limiter, left } = charged()
    const answers = [{ token: 4 }, undefined]
    const queue = limitedConsumer<object, Job>(limiter, own, async () => answers.shift())
    await queue({ queue: 'jobs', messages: [message('acme'), message('acme')] }, {}, {})
    expect(await left()).toEqual([86, 1])
  })

  it('is one, however often it fails or its consumer dies', async () => {
    const { limiter, left } = charged()
    const again = message('acme')
    const failing = limitedConsumer<object, Job>(limiter, own, () =>
      Promise.reject(new Error('no')),
    )
    await failing({ queue: 'jobs', messages: [again] }, {}, {})
    expect(await left()).toEqual([90, 1])
    // It never comes back from its second attempt.
    const dying = limitedConsumer<object, Job>(limiter, own, () => new Promise(() => {}))
    void dying({ queue: 'jobs', messages: [{ ...again, attempts: 2 }] }, {}, {})
    await vi.waitFor(async () => expect(await left()).toEqual([90, 0]), PATIENTLY)
    const used = limitedConsumer<object, Job>(limiter, own, () => ({ token: 7 }))
    await used({ queue: 'jobs', messages: [{ ...again, attempts: 3 }] }, {}, {})
    expect(await left()).toEqual([93, 1])
  })

  it('of a failed attempt is what it says, and the message comes back when it says', async () => {
    const { limiter, left } = charged()
    const cut = message('acme')
    const failing = limitedConsumer<object, Job>(limiter, own, () => {
      throw new JobError('cut off', { used: { token: 3 }, retry: '90s' })
    })
    await failing({ queue: 'jobs', messages: [cut] }, {}, {})
    expect(cut.retry.mock.calls).toEqual([[{ delaySeconds: 90 }]])
    expect(await left()).toEqual([97, 1])
  })

  it.each<unknown>(['done', { token: -1 }, { tokn: 1 }])(
    'is the estimate if its handler returns %j, and its call in flight is over',
    async (answer) => {
      const { limiter, left } = charged()
      const log = vi.spyOn(console, 'error').mockImplementation(() => {})
      const done = message('acme')
      const queue = limitedConsumer<object, Job>(limiter, own, () => answer as never)
      await queue({ queue: 'jobs', messages: [done] }, {}, {})
      expect(done.ack).toHaveBeenCalledOnce()
      expect(done.retry).not.toHaveBeenCalled()
      expect(await left()).toEqual([90, 1])
      expect(log).toHaveBeenCalledOnce()
      log.mockRestore()
    },
  )

  it('is the estimate if a JobError says that it has used what is no cost', async () => {
    const { limiter, left } = charged()
    const log = vi.spyOn(console, 'error').mockImplementation(() => {})
    const cut = message('acme')
    const queue = limitedConsumer<object, Job>(limiter, own, () => {
      throw new JobError('cut off', { used: { token: 1.5 } })
    })
    await queue({ queue: 'jobs', messages: [cut] }, {}, {})
    expect(cut.retry).toHaveBeenCalledOnce()
    expect(await left()).toEqual([90, 1])
    expect(log).toHaveBeenCalledTimes(2)
    log.mockRestore()
  })
})
