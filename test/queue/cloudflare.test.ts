import {
  createLimiter,
  fixedWindow,
  leakyBucket,
  manualClock,
  StoreError,
  type Limiter,
} from '@sluice/core'
import { memory } from '@sluice/core/memory'
import { limitedConsumer, type QueueMessage } from '@sluice/queue/cloudflare'
import { afterEach, beforeEach, describe, expect, it, vi, type MockInstance } from 'vitest'
import { message, options, type Job } from './messages.ts'

const clock = manualClock(Date.UTC(2026, 0, 1, 12))
const limiterFor = vi.fn<(env: object) => Limiter>(() =>
  createLimiter({
    store: memory(),
    clock,
    policies: [fixedWindow({ name: 'daily', limit: 2, window: '1d', per: ['tenant'] })],
  }),
)
const handle = vi.fn<(message: QueueMessage<Job>) => Promise<void>>(async () => {})
const error = vi.spyOn(console, 'error').mockImplementation(() => {})

const consume = (messages: ReturnType<typeof message>[], env = {}) =>
  limitedConsumer(limiterFor, options, handle)({ queue: 'jobs', messages }, env, {})

beforeEach(() => {
  vi.clearAllMocks()
})

const fails = () => Promise.reject(new StoreError('store_unreachable', 'The store is down'))

describe('a message', () => {
  it.each([
    [1, 10],
    [2, 20],
    [4, 80],
    [7, 600],
    [100, 600],
  ])('denied in attempt %i because the store fails is back in %i s', async (attempts, seconds) => {
    const limiter = createLimiter({
      store: { check: fails, run: fails, reset: fails },
      policies: [fixedWindow({ name: 'daily', limit: 2, window: '1d', per: ['tenant'] })],
      onStoreError: 'deny',
    })
    const denied = { ...message('acme'), attempts }
    await limitedConsumer(limiter, options, handle)({ queue: 'jobs', messages: [denied] }, {}, {})
    expect(denied.retry.mock.calls).toEqual([[{ delaySeconds: seconds }]])
    expect(handle).not.toHaveBeenCalled()
  })

  it('that fits is handled, then acknowledged', async () => {
    const fits = message('acme')
    handle.mockImplementationOnce(async () => {
      expect(fits.ack).not.toHaveBeenCalled()
    })
    await consume([fits])
    expect(fits.ack).toHaveBeenCalledOnce()
    expect(fits.retry).not.toHaveBeenCalled()
  })

  it('that is denied is retried until it fits, at most twelve hours later, the most a queue allows', async () => {
    const messages = [message('acme'), message('acme'), message('acme')]
    await consume(messages)
    expect(messages[2]?.retry).toHaveBeenCalledWith({ delaySeconds: 12 * 3_600 })
    clock.advance(12 * 3_600_000 - 1_500)
    const late = [message('acme'), message('acme'), message('acme')]
    await consume(late)
    expect(late[2]?.retry).toHaveBeenCalledWith({ delaySeconds: 2 })
    expect(late[2]?.ack).not.toHaveBeenCalled()
    expect(handle).toHaveBeenCalledTimes(4)
  })

  it('that can never fit is retried after the longest delay a queue allows', async () => {
    const never = message('acme', 3)
    await consume([never])
    expect(never.retry).toHaveBeenCalledWith({ delaySeconds: 43_200 })
    expect(handle).not.toHaveBeenCalled()
  })

  it('with an invalid tenant or cost is retried as the queue is configured', async () => {
    const bad = [message(''), message('acme', -1), message('acme')]
    await consume(bad)
    expect(bad[0]?.retry).toHaveBeenCalledWith()
    expect(bad[1]?.retry).toHaveBeenCalledWith()
    expect(bad[2]?.ack).toHaveBeenCalledOnce()
    expect(error).toHaveBeenCalledTimes(2)
  })

  it('whose handler throws is retried as the queue is configured', async () => {
    handle.mockRejectedValueOnce(new Error('failed'))
    const failing = message('acme')
    await consume([failing])
    expect(failing.retry).toHaveBeenCalledWith()
    expect(failing.ack).not.toHaveBeenCalled()
  })
})

describe('the consumer', () => {
  it('makes one limiter for each env', async () => {
    const queue = limitedConsumer(limiterFor, options, handle)
    const [one, other] = [{}, {}]
    for (const env of [one, one, other, one])
      await queue({ queue: 'jobs', messages: [message('acme')] }, env, {})
    expect(limiterFor).toHaveBeenCalledTimes(2)
  })

  it('requires a function that names the subject of a message', () => {
    expect(() => limitedConsumer(limiterFor, {} as never, handle)).toThrow(
      expect.objectContaining({ option: 'subject' }),
    )
  })
})

/** A consumer whose limiter lets one message after another begin, so many milliseconds apart. */
function delaying(delayMs: number, maxDelayMs?: number) {
  const limiter = createLimiter({
    store: memory(),
    clock: manualClock(Date.UTC(2026, 0, 1)),
    policies: [
      leakyBucket({ name: 'turns', limit: 1, window: delayMs, burst: 100, per: ['tenant'] }),
    ],
  })
  const own = { ...options, ...(maxDelayMs === undefined ? {} : { maxDelayMs }) }
  const queue = limitedConsumer(limiter, own, handle)
  return (count: number) =>
    queue({ queue: 'jobs', messages: Array.from({ length: count }, () => message('a')) }, {}, {})
}

describe('a message that fits and has a delay', () => {
  let digest: MockInstance | undefined

  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    // Real ones are made beside the event loop, of which fake timers know nothing.
    let digests = 0
    digest = vi.spyOn(crypto.subtle, 'digest').mockImplementation(async () => {
      digests += 1
      return new Uint8Array(32).fill(digests).buffer
    })
  })
  afterEach(() => {
    vi.useRealTimers()
    digest?.mockRestore()
  })

  it('is delayed, then handled; the next one is checked after that', async () => {
    const done = delaying(1_000)(2)
    await vi.advanceTimersByTimeAsync(999)
    // The first of a leaky bucket begins at once.
    expect(handle).toHaveBeenCalledOnce()
    await vi.advanceTimersByTimeAsync(1)
    expect(handle).toHaveBeenCalledTimes(2)
    await done
  })

  it.each([
    [undefined, 30_000],
    [500, 500],
  ])('is delayed for a maximum of %s at most', async (maxDelayMs, ms) => {
    const done = delaying(90_000, maxDelayMs)(2)
    await vi.advanceTimersByTimeAsync(ms - 1)
    expect(handle).toHaveBeenCalledOnce()
    await vi.advanceTimersByTimeAsync(1)
    await done
    expect(handle).toHaveBeenCalledTimes(2)
  })

  it('is not delayed with a maximum of 0', async () => {
    await delaying(90_000, 0)(3)
    expect(handle).toHaveBeenCalledTimes(3)
  })

  it('is delayed for at most ten minutes, together with the others of its batch', async () => {
    // The second waits for 30 s, and so does each one after it: its turn is later.
    const done = delaying(30_000)(30)
    await vi.advanceTimersByTimeAsync(600_000 - 1)
    expect(handle).toHaveBeenCalledTimes(20)
    await vi.advanceTimersByTimeAsync(1)
    await done
    expect(handle).toHaveBeenCalledTimes(30)
  })
})

it('a cost that is undefined is invalid, and the message is retried', async () => {
  const own = { subject: options.subject, cost: () => undefined as never }
  const left = message('acme')
  await limitedConsumer<object, Job>(limiterFor, own, handle)(
    { queue: 'jobs', messages: [left] },
    {},
    {},
  )
  expect(left.retry).toHaveBeenCalledWith()
  expect(handle).not.toHaveBeenCalled()
})

it('a subject and a cost may be promises', async () => {
  const queue = limitedConsumer<object, Job>(
    limiterFor,
    {
      subject: async ({ body }: { body: Job }) => ({ tenant: body.tenant }),
      cost: async () => 2,
    },
    handle,
  )
  const messages = [message('acme'), message('acme')]
  await queue({ queue: 'jobs', messages }, {}, {})
  expect(messages.map(({ ack }) => ack.mock.calls.length)).toEqual([1, 0])
})
