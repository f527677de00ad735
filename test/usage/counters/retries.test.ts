import { durationMs } from '@sluice/core'
import { flushUsage } from '@sluice/usage'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { collectProblems } from '../../support/limiters.ts'
import { recording } from '../support.ts'
import { COST, countedStore, savedIn, SUBJECT } from './support.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => {
  vi.restoreAllMocks()
  vi.useRealTimers()
})

it.each([
  ['5s', 5_000],
  ['1s', 1_000],
  // Not in a tight loop, and before the counts are too old.
  ['1ms', 1_000],
  ['1h', 60_000],
] as const)(
  'a flush that fails is made again by a process without requests: every %s, after %i ms',
  async (flushEvery, waitMs) => {
    const { store, fail, flushes } = countedStore()
    const { listener } = collectProblems()
    const usageOptions = { tenants: 'plain', flushEvery } as const
    const { limiter } = recording(undefined, {
      store,
      usage: usageOptions,
      extensions: [listener],
    })
    fail('before')
    await limiter.check(SUBJECT, COST)
    await expect(flushUsage(limiter)).rejects.toThrow('down')
    // The request has a flush of its own to come, which fails as well.
    await vi.advanceTimersByTimeAsync(Math.min(waitMs, durationMs('every', flushEvery)))
    const before = flushes()
    await vi.advanceTimersByTimeAsync(3 * waitMs)
    expect(flushes() - before).toBe(3)
    fail()
    await vi.advanceTimersByTimeAsync(waitMs)
    expect(await savedIn(store)).toEqual([['acme', 1]])
    const saved = flushes()
    await vi.advanceTimersByTimeAsync(3_600_000)
    expect([flushes(), vi.getTimerCount()]).toEqual([saved, 0])
  },
)

it('a flush that is made again keeps no process alive, and gives way to that of the next request', async () => {
  const { store, fail, flushes } = countedStore()
  const { listener } = collectProblems()
  const { limiter } = recording(undefined, { store, extensions: [listener] })
  fail('before')
  await limiter.check(SUBJECT, COST)
  await vi.advanceTimersByTimeAsync(5_000)
  const timers = vi.spyOn(globalThis, 'setTimeout')
  await vi.advanceTimersByTimeAsync(5_000)
  const retry = timers.mock.results[0]?.value as NodeJS.Timeout | undefined
  expect(retry?.hasRef()).toBe(false)
  await limiter.check(SUBJECT, COST)
  expect([flushes(), vi.getTimerCount()]).toEqual([2, 1])
  await limiter.check(SUBJECT, COST)
  fail()
  await flushUsage(limiter)
  await vi.advanceTimersByTimeAsync(5_000)
  expect([await savedIn(store), vi.getTimerCount()]).toEqual([
    [2, 1].map((requests) => ['acme', requests]),
    0,
  ])
})
