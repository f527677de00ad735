import type { Limiter } from '@sluice/core'
import { invalidatePlan } from '@sluice/core/plans'
import { memory } from '@sluice/core/memory'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { ACME } from '../../support/limiters.ts'
import { callsOf } from '../../support/watched-store.ts'
import { isolates, planOf } from './support.ts'

const TIMEOUT_MS = 1_000

beforeEach(() => {
  vi.useFakeTimers()
})

afterEach(() => {
  vi.restoreAllMocks()
  vi.useRealTimers()
})

/** An isolate whose first request has been cut off; as on Cloudflare, what it awaits never comes. */
async function cutOff(call: 'check' | 'run') {
  const app = isolates(1, memory(), { timeoutMs: TIMEOUT_MS })
  const [limiter] = app.limiters as [Limiter]
  app.database.plans.set('acme', 'growth')
  vi.spyOn(app.store, call).mockReturnValueOnce(new Promise<never>(() => {}))
  void limiter.check(ACME)
  await vi.advanceTimersByTimeAsync(0)
  return { ...app, limiter }
}

/** The pauses that a request has made; deadlines are as long as a look-up may take, or longer. */
async function pausesOf(act: () => Promise<unknown>): Promise<number> {
  const pauses = vi.spyOn(globalThis, 'setTimeout')
  await act()
  const { length } = pauses.mock.calls.filter(([, ms = 0]) => ms < TIMEOUT_MS)
  pauses.mockRestore()
  return length
}

describe.each(['check', 'run'] as const)('a look-up whose %s never returns', (call) => {
  it('delays no request for longer than its timeout, whenever it arrived', async () => {
    const { limiter } = await cutOff(call)
    await vi.advanceTimersByTimeAsync(900)
    const decision = limiter.check(ACME)
    await vi.advanceTimersByTimeAsync(TIMEOUT_MS - 900 + 50)
    expect(planOf(await decision)).toBe('starter by default')
  })

  it('delays no request that arrives after its timeout', async () => {
    const { limiter } = await cutOff(call)
    await vi.advanceTimersByTimeAsync(TIMEOUT_MS)
    const pauses = await pausesOf(async () => {
      expect(planOf(await limiter.check(ACME))).toBe('starter by default')
      await limiter.check(ACME)
    })
    expect(pauses).toBe(0)
  })

  it('is repeated in the background, and its plan applies without a wait', async () => {
    const { limiter, clock, database } = await cutOff(call)
    await vi.advanceTimersByTimeAsync(TIMEOUT_MS)
    // The time of a look-up, and 5 s after.
    if (call === 'run') clock.advance(TIMEOUT_MS + 5_000)
    await limiter.check(ACME)
    await vi.advanceTimersByTimeAsync(0)
    const pauses = await pausesOf(async () => {
      await limiter.check(ACME)
      expect(planOf(await limiter.check(ACME))).toBe('growth by resolver')
    })
    expect(pauses).toBe(0)
    // The plan that it had found was not saved.
    expect(database.queries).toHaveLength(call === 'run' ? 2 : 1)
  })

  it('does not delay requests for an hour when the clock of the machine is set back by one', async () => {
    const { limiter } = await cutOff(call)
    vi.setSystemTime(Date.now() - 3_600_000)
    const decision = limiter.check(ACME)
    await vi.advanceTimersByTimeAsync(2 * TIMEOUT_MS)
    expect(await Promise.race([decision, Promise.resolve('waits')])).not.toBe('waits')
  })
})

it('after a look-up that never returned and one in the background that found nothing, no request waits for another', async () => {
  const { limiter, database, store } = await cutOff('check')
  vi.spyOn(console, 'error').mockImplementation(() => {})
  database.plans.set('acme', new Error('down'))
  await vi.advanceTimersByTimeAsync(TIMEOUT_MS)
  await limiter.check(ACME)
  await vi.advanceTimersByTimeAsync(3_600_000)
  const asked = vi.spyOn(store, 'check').mockClear()
  await limiter.check(ACME)
  expect(asked).toHaveBeenCalledTimes(1)
})

it('a look-up after an invalidation that never returns leaves the last known plan, without a wait', async () => {
  const { limiters, store } = isolates(1, memory(), { timeoutMs: TIMEOUT_MS })
  const [limiter] = limiters as [Limiter]
  await limiter.check(ACME)
  await invalidatePlan(limiter, 'acme')
  vi.spyOn(store, 'check').mockReturnValueOnce(new Promise<never>(() => {}))
  void limiter.check(ACME)
  await vi.advanceTimersByTimeAsync(TIMEOUT_MS)
  const pauses = await pausesOf(async () => {
    const calls = await callsOf(store, async () => {
      expect(planOf(await limiter.check(ACME))).toBe('starter by stale')
    })
    expect(calls.decisions).toBe(1)
  })
  expect(pauses).toBe(0)
})
