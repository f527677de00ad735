import { EventEmitter, once } from 'node:events'
import { slidingWindow } from '@sluice/core'
import { upstash } from '@sluice/core/upstash'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { collectProblems, setUp } from '../../support/limiters.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

describe('a store without timeoutMs', () => {
  it('gives a decision a second', async () => {
    const { problems, listener } = collectProblems()
    const network = new EventEmitter()
    const sent = once(network, 'request')
    const silent = (): Promise<Response> => {
      network.emit('request')
      return new Promise(() => {})
    }
    const { limiter } = setUp(
      [slidingWindow({ name: 'rpm', limit: 1, window: '1m', per: 'global' })],
      {
        store: upstash({ url: 'https://redis.example', token: 'secret', fetch: silent }),
        extensions: [listener],
      },
    )
    let cause: string | undefined
    const deciding = limiter.check({}).then((decision) => (cause = decision.degraded?.cause))
    // A script is hashed before it is sent, which takes real time.
    await sent
    await vi.advanceTimersByTimeAsync(999)
    expect(cause).toBeUndefined()
    await vi.advanceTimersByTimeAsync(1)
    await deciding
    expect(cause).toBe('store_timeout')
    expect(problems[0]?.message).toContain('did not answer within 1000 ms')
  })
})
