import { reserve } from '@sluice/core/reservations'
import { flushUsage } from '@sluice/usage'
import { usage } from '@sluice/usage/report'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { collectProblems } from '../../support/limiters.ts'
import { recording } from '../support.ts'
import { COST, countedStore, savedIn, SUBJECT } from './support.ts'

const outsideOfRequests = (): never => {
  throw new Error('outside of a request')
}

/** A limiter of a counted store, and its problems. */
function withProblems() {
  const counted = countedStore()
  const { problems, listener } = collectProblems()
  const { store } = counted
  return { ...counted, problems, ...recording(undefined, { store, extensions: [listener] }) }
}

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

describe('a flush', () => {
  it('comes 5 seconds after the first request, in its waitUntil, and takes along what others count', async () => {
    const { store, flushes } = countedStore()
    const { limiter } = recording(undefined, { store })
    const kept: Promise<unknown>[] = []
    const waitUntil = (promise: Promise<unknown>) => void kept.push(promise)
    for (let call = 0; call < 3; call += 1) await limiter.check(SUBJECT, { ...COST, waitUntil })
    expect(kept).toHaveLength(1)
    await vi.advanceTimersByTimeAsync(4_999)
    expect(flushes()).toBe(0)
    await vi.advanceTimersByTimeAsync(1)
    expect(flushes()).toBe(1)
    await Promise.all(kept)

    await vi.advanceTimersByTimeAsync(3_600_000)
    expect([flushes(), vi.getTimerCount()]).toEqual([1, 0])
    await limiter.check(SUBJECT, { ...COST, waitUntil })
    expect(kept).toHaveLength(2)
  })

  it('after a settlement is kept by the waitUntil of the option', async () => {
    const kept: Promise<unknown>[] = []
    const { limiter } = recording(undefined, {
      usage: { tenants: 'plain', waitUntil: (promise) => void kept.push(promise) },
    })
    const call = await reserve(limiter, SUBJECT, { cost: { token: 100 } })
    await vi.advanceTimersByTimeAsync(5_000)
    if (call.allowed) await call.settle({ token: 60 })
    expect(kept).toHaveLength(2)
    await vi.advanceTimersByTimeAsync(5_000)
    await Promise.all(kept)
    expect((await usage(limiter)).rows[0]).toMatchObject({ tokens: 60 })
  })

  it('of a request that the platform has cut off is replaced', async () => {
    const { store, flushes } = countedStore()
    const { limiter } = recording(undefined, { store })
    await limiter.check(SUBJECT, COST)
    vi.clearAllTimers()
    vi.setSystemTime(Date.now() + 20_000)
    await limiter.check(SUBJECT, COST)
    await vi.advanceTimersByTimeAsync(5_000)
    expect(flushes()).toBe(1)
    expect((await usage(limiter)).rows[0]).toMatchObject({ requests: 2 })
  })

  it.each(['before', 'after'] as const)(
    'that fails %s it has arrived is sent again, and counts once',
    async (how) => {
      const { store, fail } = countedStore()
      const { problems, listener } = collectProblems()
      const { limiter } = recording(undefined, {
        store,
        extensions: [listener],
      })
      fail(how)
      for (let flush = 0; flush < 5; flush += 1) {
        await limiter.check({ tenant: `t${flush}` }, COST)
        await vi.advanceTimersByTimeAsync(5_000)
      }
      expect(new Set(problems.map(({ code }) => code))).toEqual(new Set(['usage_incomplete']))
      await expect(flushUsage(limiter)).rejects.toThrow('down')
      fail()
      await flushUsage(limiter)
      expect(await savedIn(store)).toEqual([0, 1, 2, 3, 4].map((index) => [`t${index}`, 1]))
    },
  )

  it('saves what was counted before it, also while another one is under way', async () => {
    const { store } = countedStore()
    const { limiter } = recording(undefined, { store, usage: { tenants: 'hashed' } })
    await limiter.check(SUBJECT, COST)
    const other = flushUsage(limiter)
    await flushUsage(limiter)
    expect(await savedIn(store)).toEqual([[expect.any(String), 1]])
    await other
  })

  it('that has arrived without a reply counts once, however late the next one is', async () => {
    const { problems, limiter, clock, store, fail } = withProblems()
    fail('after')
    await limiter.check(SUBJECT, COST)
    await vi.advanceTimersByTimeAsync(5_000)
    fail()
    // The process sleeps: its timers do not run.
    vi.clearAllTimers()
    clock.advance(900_000)
    vi.setSystemTime(Date.now() + 900_000)
    await flushUsage(limiter)
    expect(await savedIn(store)).toEqual([['acme', 1]])
    expect(problems.at(-1)?.message).toContain('may be lost')
  })

  it('that did not arrive in a long failure is all that may be lost in it', async () => {
    const { problems, limiter, clock, store, fail } = withProblems()
    fail('before')
    for (let minute = 0; minute < 30; minute += 1) {
      await limiter.check({ tenant: `t${minute}` }, COST)
      clock.advance(60_000)
      await vi.advanceTimersByTimeAsync(60_000)
    }
    fail()
    await flushUsage(limiter)
    const saved = await savedIn(store)
    expect(saved).toHaveLength(29)
    expect(saved).not.toContainEqual(['t0', 1])
    expect(problems.filter(({ message }) => message.includes('may be lost'))).toHaveLength(1)
  })

  it('is made, and a problem, if waitUntil throws', async () => {
    const { problems, listener } = collectProblems()
    const { limiter } = recording(undefined, {
      extensions: [listener],
    })
    await limiter.check(SUBJECT, { ...COST, waitUntil: outsideOfRequests })
    expect(problems).toMatchObject([
      { code: 'usage_incomplete', message: 'waitUntil failed, and a flush may be cut off' },
    ])
    await vi.advanceTimersByTimeAsync(5_000)
    expect((await usage(limiter)).rows[0]).toMatchObject({ requests: 1 })
  })

  it('comes early if there are many cells', async () => {
    const { store, flushes } = countedStore()
    const { limiter } = recording(undefined, { store })
    for (let tenant = 0; tenant < 400; tenant += 1) {
      await limiter.check({ tenant: `t${tenant}` }, COST)
    }
    expect(flushes()).toBeGreaterThan(0)
  })

  it('holds a bounded number of cells while the store fails, and loses no count', async () => {
    const { store, fail, flushes } = countedStore()
    const { limiter } = recording(undefined, { store })
    fail('before')
    for (let tenant = 0; tenant < 3_000; tenant += 1) {
      await limiter.check({ tenant: `t${tenant}` }, COST)
    }
    // Not one attempt for each request.
    expect(flushes()).toBeLessThan(5)
    fail()
    const { rows } = await usage(limiter)
    expect(rows.length).toBeLessThan(2_000)
    expect(rows.reduce((sum, { requests }) => sum + requests, 0)).toBe(3_000)
    expect(rows[0]).toMatchObject({ tenant: '(other)', outcome: 'allowed' })
  })

  it('tells a bounded number of retries from first denials while the store fails', async () => {
    const { store, fail } = countedStore()
    const { limiter } = recording(undefined, { store })
    fail('before')
    for (let tenant = 0; tenant < 3_000; tenant += 1) {
      await limiter.check({ tenant: `t${tenant}` }, { cost: { token: 20_000 } })
    }
    fail()
    const { rows } = await usage(limiter)
    expect(rows.reduce((sum, { requests }) => sum + requests, 0)).toBe(3_000)
    const estimated = rows.reduce((sum, { tokens }) => sum + tokens, 0)
    expect(estimated).toBeGreaterThan(0)
    expect(estimated).toBeLessThan(1_500 * 20_000)
  })
})
