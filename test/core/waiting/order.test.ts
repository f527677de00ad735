import { tokenBucket } from '@sluice/core'
import { waitFor, waitingLine } from '@sluice/core/waiting'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { ACME } from '../../support/limiters.ts'
import { NOON } from '../../support/times.ts'
import { begin, perTenSeconds, setUp, useUp } from './requests.ts'

beforeEach(() => {
  vi.useFakeTimers({ now: NOON })
})
afterEach(() => {
  vi.useRealTimers()
  vi.restoreAllMocks()
})

describe('a line', () => {
  it('lets in one after another, in the order in which they came', async () => {
    const { limiter, patient } = setUp([
      waitingLine(tokenBucket({ name: 'rpm', limit: 60, window: '1m', burst: 1, per: ['tenant'] })),
    ])
    await useUp(limiter, 1)
    const served: number[] = []
    for (let index = 0; index < 8; index += 1) {
      void patient.check(ACME).then(({ allowed }) => allowed && served.push(index))
      // oxlint-disable-next-line no-await-in-loop -- one after another
      await vi.advanceTimersByTimeAsync(10)
    }
    await vi.advanceTimersByTimeAsync(4_000)
    expect(served).toEqual([0, 1, 2, 3])
    await vi.advanceTimersByTimeAsync(5_000)
    expect(served).toEqual([0, 1, 2, 3, 4, 5, 6, 7])
  })

  it('denies who does not wait while others do, and says for how long', async () => {
    const { limiter, patient } = setUp([perTenSeconds(10)])
    await useUp(limiter, 5)
    await vi.advanceTimersByTimeAsync(1_000)
    const waiting = begin(() => patient.check(ACME, { cost: 9 }))
    await vi.advanceTimersByTimeAsync(0)
    // It would fit, and would have the other wait longer.
    const other = await limiter.check(ACME)
    expect(other).toMatchObject({ allowed: false, violated: { name: 'rpm.line' } })
    expect(other.retryAfterMs).toBe(9_000)
    await vi.advanceTimersByTimeAsync(9_010)
    expect(waiting.decision?.allowed).toBe(true)
    expect((await limiter.check(ACME)).allowed).toBe(true)
  })

  it('is left by a client that hangs up, at once', async () => {
    const gone = new AbortController()
    const { limiter, patient, waits } = setUp([perTenSeconds(10)], { signal: gone.signal })
    await useUp(limiter, 5)
    const waiting = begin(() => patient.check(ACME, { cost: 9 }))
    await vi.advanceTimersByTimeAsync(100)
    expect((await limiter.check(ACME)).allowed).toBe(false)
    gone.abort()
    await vi.advanceTimersByTimeAsync(0)
    expect(waiting.decision?.allowed).toBe(false)
    expect(waits).toMatchObject([{ outcome: 'aborted', waitedMs: 100 }])
    expect((await limiter.check(ACME)).allowed).toBe(true)
  })

  it('lets in who stands behind one that has left, after a second', async () => {
    const gone = new AbortController()
    const { limiter, patient } = setUp([perTenSeconds(10)])
    await useUp(limiter, 5)
    const leaving = waitFor(limiter, '20s', { signal: gone.signal })
    const first = begin(() => leaving.check(ACME, { cost: 10 }))
    await vi.advanceTimersByTimeAsync(100)
    const second = begin(() => patient.check(ACME))
    await vi.advanceTimersByTimeAsync(100)
    gone.abort()
    await vi.advanceTimersByTimeAsync(899)
    expect(second.decision).toBeUndefined()
    await vi.advanceTimersByTimeAsync(2)
    expect([first.decision?.allowed, second.decision?.allowed]).toEqual([false, true])
  })

  it('holds no more than maxWaiting', async () => {
    const { limiter, patient, waits } = setUp([perTenSeconds(10, { maxWaiting: 3 })])
    await useUp(limiter, 10)
    const all = [1, 2, 3, 4, 5].map(() => begin(() => patient.check(ACME)))
    await vi.advanceTimersByTimeAsync(0)
    expect(all.map(({ decision }) => decision?.allowed)).toEqual([
      undefined,
      undefined,
      undefined,
      false,
      false,
    ])
    expect(waits).toMatchObject([{ outcome: 'denied' }, { outcome: 'denied' }])
    await vi.advanceTimersByTimeAsync(10_010)
    expect(all.slice(0, 3).map(({ decision }) => decision?.allowed)).toEqual([true, true, true])
  })

  it('lets tenants take turns, and keeps places free for them', async () => {
    const all = waitingLine(
      tokenBucket({ name: 'all', limit: 60, window: '1m', burst: 1, per: 'global' }),
      { between: ['tenant'], maxWaiting: 20 },
    )
    const { limiter, patient } = setUp([all])
    await useUp(limiter, 1, { tenant: 'other' })
    const served: string[] = []
    const ask = (tenant: string): void =>
      void patient.check({ tenant }).then(({ allowed }) => allowed && served.push(tenant))
    for (let count = 0; count < 15; count += 1) ask('greedy')
    await vi.advanceTimersByTimeAsync(10)
    for (const tenant of ['a', 'b']) ask(tenant)
    await vi.advanceTimersByTimeAsync(4_100)
    expect(served.toSorted()).toEqual(['a', 'b', 'greedy', 'greedy'])
    // Ten of fifteen found a place: as many as were still free.
    await vi.advanceTimersByTimeAsync(20_000)
    expect(served).toHaveLength(12)
  })

  it('does not wait for one that has died', async () => {
    const { limiter, patient } = setUp([perTenSeconds(2)])
    await useUp(limiter, 2)
    // Its process ends: nobody comes back to its place.
    const dead = new AbortController()
    vi.spyOn(dead.signal, 'addEventListener').mockImplementation(() => {})
    const timers = vi.spyOn(globalThis, 'setTimeout')
    timers.mockImplementationOnce(() => 0 as never)
    begin(() => waitFor(limiter, '20s', { signal: dead.signal }).check(ACME))
    await vi.advanceTimersByTimeAsync(0)
    timers.mockRestore()
    const next = begin(() => patient.check(ACME))
    await vi.advanceTimersByTimeAsync(10_020)
    expect(next.decision?.allowed).toBe(true)
    expect((await limiter.check(ACME)).allowed).toBe(false)
    await vi.advanceTimersByTimeAsync(3_000)
    expect((await limiter.check(ACME)).allowed).toBe(true)
  })
})
