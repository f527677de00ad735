import { createLimiter, dailyCap, slidingWindow } from '@sluice/core'
import { choices } from '@sluice/core/choices'
import { fitRange, reserve } from '@sluice/core/reservations'
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

describe('a request that does not fit', () => {
  it('waits until it does, with three calls', async () => {
    const { limiter, patient, calls, waits } = setUp([perTenSeconds(2)])
    await useUp(limiter, 2)
    await vi.advanceTimersByTimeAsync(7_000)
    calls.check = 0
    const waiting = begin(() => patient.check(ACME))
    await vi.advanceTimersByTimeAsync(2_999)
    expect(waiting.decision).toBeUndefined()
    await vi.advanceTimersByTimeAsync(10)
    expect(waiting.decision?.allowed).toBe(true)
    expect(calls).toMatchObject({ check: 2, run: 1 })
    expect(waits).toEqual([{ outcome: 'allowed', waitedMs: 3_002, looks: 1 }])
  })

  it('and has choices takes the next, and is denied at once if none fits', async () => {
    const window = { name: 'rpm', limit: 1, window: '10s', per: ['tenant', 'model'] } as const
    const { patient, waits } = setUp([waitingLine(slidingWindow(window))])
    const list = choices([{ subject: { model: 'a' } }, { subject: { model: 'b' } }])
    const decisions = []
    for (let call = 0; call < 3; call += 1) {
      decisions.push(await patient.check(ACME, { choices: list }))
    }
    expect(decisions.map(({ allowed, choice }) => [allowed, choice])).toEqual([
      [true, 0],
      [true, 1],
      [false, 0],
    ])
    expect(decisions[2]?.retryAfterMs).toBe(10_000)
    expect(waits).toEqual([])
  })

  it('is denied at once if it would take too long, and takes no place', async () => {
    const policies = [
      waitingLine(slidingWindow({ name: 'rpm', limit: 2, window: '1m', per: ['tenant'] })),
    ]
    const { limiter, patient, waits } = setUp(policies)
    await useUp(limiter, 2)
    const decision = await patient.check(ACME)
    expect(decision).toMatchObject({ allowed: false, retryAfterMs: 60_000 })
    expect(waits).toMatchObject([{ outcome: 'denied', waitedMs: 0, looks: 0 }])
    await vi.advanceTimersByTimeAsync(60_000)
    expect((await limiter.check(ACME)).allowed).toBe(true)
  })

  it('is denied at once if a policy without a line denies it', async () => {
    const daily = dailyCap({ name: 'daily', limit: 2, per: ['tenant'] })
    const { limiter, patient, calls } = setUp([perTenSeconds(2), daily])
    await useUp(limiter, 2)
    expect((await patient.check(ACME)).allowed).toBe(false)
    expect(calls.run).toBe(0)
  })

  it('is denied at once if it never fits', async () => {
    const { patient, calls } = setUp([perTenSeconds(2)])
    expect((await patient.check(ACME, { cost: 3 })).allowed).toBe(false)
    expect(calls.run).toBe(0)
  })

  it('waits as a reservation, also for the most that fits', async () => {
    const tpm = slidingWindow({
      name: 'tpm',
      limit: 100,
      window: '10s',
      per: ['tenant'],
      unit: 'token',
    })
    const { limiter, patient } = setUp([waitingLine(tpm)])
    await limiter.check(ACME, { cost: { token: 90 } })
    const fit = fitRange({ floor: 20, most: 500, rates: { token: 1_000_000 } })
    const reserved = begin(() => reserve(patient, ACME, { cost: { token: 5 }, fit }))
    await vi.advanceTimersByTimeAsync(10_010)
    const call = reserved.decision as Awaited<ReturnType<typeof reserve>> & { granted: number }
    expect(call).toMatchObject({ allowed: true, granted: 95 })
    const settled = call.allowed ? await call.settle({ token: 10 }) : undefined
    expect(settled?.applied).toBe(true)
    expect((await limiter.peek(ACME, { cost: { token: 90 } })).allowed).toBe(true)
  })

  it('does not wait when it only looks', async () => {
    const { limiter, patient, calls } = setUp([perTenSeconds(2)])
    await useUp(limiter, 2)
    expect((await patient.peek(ACME)).allowed).toBe(false)
    expect(calls.run).toBe(0)
  })

  it('looks half-way whether units have come back', async () => {
    const token = slidingWindow({
      name: 'tpm',
      limit: 100,
      window: '10s',
      per: ['tenant'],
      unit: 'token',
    })
    const { limiter, patient } = setUp([waitingLine(token)])
    const call = await reserve(limiter, ACME, { cost: { token: 100 } })
    const waiting = begin(() => patient.check(ACME, { cost: { token: 10 } }))
    await vi.advanceTimersByTimeAsync(1_000)
    if (call.allowed) await call.settle({ token: 5 })
    await vi.advanceTimersByTimeAsync(9_100)
    expect(waiting.decision?.allowed).toBe(true)
    expect(waiting.afterMs).toBeLessThan(5_100)
  })
})

it('waits as the last waitFor says', async () => {
  const { limiter, patient, waits } = setUp([perTenSeconds(2)])
  await useUp(limiter, 2)
  const impatient = waitFor(patient, '1s')
  expect((await impatient.check(ACME)).allowed).toBe(false)
  expect(waits).toEqual([])
  const waiting = begin(() => waitFor(impatient, '15s').check(ACME))
  await vi.advanceTimersByTimeAsync(10_010)
  expect(waiting.decision?.allowed).toBe(true)
})

describe('several lines', () => {
  it('are waited in one after another, the longest first', async () => {
    const rpm = waitingLine(slidingWindow({ name: 'rpm', limit: 2, window: '4s', per: ['tenant'] }))
    const tpm = waitingLine(
      slidingWindow({ name: 'tpm', limit: 100, window: '10s', per: ['tenant'], unit: 'token' }),
    )
    const { limiter, patient, calls } = setUp([rpm, tpm])
    await limiter.check(ACME, { cost: { request: 2, token: 100 } })
    calls.check = 0
    const waiting = begin(() => patient.check(ACME, { cost: { token: 10 } }))
    await vi.advanceTimersByTimeAsync(9_990)
    expect(waiting.decision).toBeUndefined()
    await vi.advanceTimersByTimeAsync(30)
    expect(waiting.decision?.allowed).toBe(true)
    expect(calls.check + calls.run).toBeLessThanOrEqual(12)
    expect((await limiter.check(ACME, { cost: { token: 10 } })).allowed).toBe(true)
  })
})

it('looks five times at most, and makes twelve calls at most', async () => {
  const { store, patient, calls, waits } = setUp([perTenSeconds(10)])
  // Another deploy, without the line, takes each unit as it comes free.
  const window = { name: 'rpm', limit: 10, window: '10s', per: ['tenant'] } as const
  const other = createLimiter({ store, policies: [slidingWindow(window)] })
  const steal = async (rounds: number): Promise<void> => {
    for (let round = 0; round < rounds; round += 1) {
      await vi.advanceTimersByTimeAsync(499)
      await other.check(ACME)
      calls.check -= 1
    }
  }
  await steal(25)
  Object.assign(calls, { check: 0, run: 0 })
  const call = begin(() => patient.check(ACME, { cost: 5 }))
  await steal(40)
  await vi.advanceTimersByTimeAsync(20_000)
  expect(call.decision?.allowed).toBe(false)
  expect(waits[0]?.looks).toBeLessThanOrEqual(5)
  expect(calls.check + calls.run).toBeLessThanOrEqual(12)
  expect(call.afterMs).toBeLessThanOrEqual(20_000)
})

it('logs what onWaited throws, and decides', async () => {
  const log = vi.spyOn(console, 'error').mockImplementation(() => {})
  const onWaited = vi.fn<() => void>().mockThrow(new Error('theirs'))
  const { limiter, patient } = setUp([perTenSeconds(2)], { onWaited })
  await useUp(limiter, 2)
  const waiting = begin(() => patient.check(ACME))
  await vi.advanceTimersByTimeAsync(10_010)
  expect(waiting.decision?.allowed).toBe(true)
  expect(log).toHaveBeenCalledOnce()
})
