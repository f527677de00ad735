import {
  createLimiter,
  dailyCap,
  slidingWindow,
  StoreError,
  tokenBucket,
  type Decision,
  type Limiter,
  type Policy,
  type Store,
} from '@sluice/core'
import { memory } from '@sluice/core/memory'
import { fitRange, reserve } from '@sluice/core/reservations'
import { waitFor, waitingLine, type Waited, type WaitForOptions } from '@sluice/core/waiting'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { collectProblems } from '../../support/limiters.ts'
import { NOON } from '../../support/times.ts'

beforeEach(() => {
  vi.useFakeTimers({ now: NOON })
})
afterEach(() => {
  vi.useRealTimers()
  vi.restoreAllMocks()
})

const perMinute = (limit: number, options: Parameters<typeof waitingLine>[1] = {}): Policy =>
  waitingLine(slidingWindow({ name: 'rpm', limit, window: '10s', per: ['tenant'] }), options)

/** A store that counts its calls, and fails when told to. */
function counted(store: Store = memory()) {
  const calls = { check: 0, run: 0 }
  const down = new Set<'check' | 'run'>()
  const answer = <T>(kind: 'check' | 'run', ask: () => Promise<T>): Promise<T> => {
    calls[kind] += 1
    return down.has(kind) ? Promise.reject(new StoreError('store_unreachable', 'down')) : ask()
  }
  const counting: Store = {
    check: (request) => answer('check', () => store.check(request)),
    run: (operation) => answer('run', () => store.run(operation)),
    reset: (keys) => store.reset(keys),
  }
  return { calls, down, store: counting }
}

function setUp(policies: readonly Policy[], options: WaitForOptions = {}) {
  const { calls, down, store } = counted()
  const { problems, listener } = collectProblems()
  const limiter: Limiter = createLimiter({ store, policies, extensions: [listener] })
  const waits: Waited[] = []
  const onWaited = (waited: Waited): void => void waits.push(waited)
  const patient = waitFor(limiter, '20s', { onWaited, ...options })
  return { calls, down, store, limiter, patient, waits, problems }
}

const ACME = { tenant: 'acme' }

/** Starts a request, and notes when it was decided. */
function begin(ask: () => Promise<Decision>) {
  const begun = { decision: undefined as Decision | undefined, afterMs: NaN }
  const at = Date.now()
  void ask().then((decision) => Object.assign(begun, { decision, afterMs: Date.now() - at }))
  return begun
}

/** Uses up a limit. */
async function useUp(limiter: Limiter, units: number, subject: object = ACME): Promise<void> {
  expect((await limiter.check(subject, { cost: units })).allowed).toBe(true)
}

describe('a request that does not fit', () => {
  it('waits until it does, with three calls', async () => {
    const { limiter, patient, calls, waits } = setUp([perMinute(2)])
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
    const { limiter, patient, calls } = setUp([perMinute(2), daily])
    await useUp(limiter, 2)
    expect((await patient.check(ACME)).allowed).toBe(false)
    expect(calls.run).toBe(0)
  })

  it('is denied at once if it never fits', async () => {
    const { patient, calls } = setUp([perMinute(2)])
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
    const { limiter, patient, calls } = setUp([perMinute(2)])
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
  const { limiter, patient, waits } = setUp([perMinute(2)])
  await useUp(limiter, 2)
  const impatient = waitFor(patient, '1s')
  expect((await impatient.check(ACME)).allowed).toBe(false)
  expect(waits).toEqual([])
  const waiting = begin(() => waitFor(impatient, '15s').check(ACME))
  await vi.advanceTimersByTimeAsync(10_010)
  expect(waiting.decision?.allowed).toBe(true)
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
    const { limiter, patient } = setUp([perMinute(10)])
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
    const { limiter, patient, waits } = setUp([perMinute(10)], { signal: gone.signal })
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

  it('holds no more than maxWaiting', async () => {
    const { limiter, patient, waits } = setUp([perMinute(10, { maxWaiting: 3 })])
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
    const { limiter, patient } = setUp([perMinute(2)])
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

describe('a store that fails', () => {
  it('while a request joins: it is denied, and the problem is reported', async () => {
    const { limiter, patient, down, waits, problems } = setUp([perMinute(2)])
    await useUp(limiter, 2)
    down.add('run')
    expect(await patient.check(ACME)).toMatchObject({ allowed: false, retryAfterMs: 10_000 })
    expect(waits).toMatchObject([{ outcome: 'failed' }])
    expect(problems).toMatchObject([{ code: 'store_unreachable' }])
    expect(problems[0]?.message).toContain('could not wait')
  })

  it('when it looks half-way: it waits on', async () => {
    const { limiter, patient, down, problems } = setUp([perMinute(2)])
    await useUp(limiter, 2)
    const waiting = begin(() => patient.check(ACME))
    await vi.advanceTimersByTimeAsync(4_000)
    down.add('run')
    await vi.advanceTimersByTimeAsync(5_900)
    expect(waiting.decision).toBeUndefined()
    await vi.advanceTimersByTimeAsync(110)
    expect(waiting.decision).toMatchObject({ allowed: true, degraded: undefined })
    expect(problems).toEqual([])
  })

  it('when it leaves: it leaves again later', async () => {
    const gone = new AbortController()
    const { limiter, patient, down } = setUp([perMinute(10)], { signal: gone.signal })
    await useUp(limiter, 5)
    const waiting = begin(() => patient.check(ACME, { cost: 9 }))
    await vi.advanceTimersByTimeAsync(100)
    down.add('run')
    gone.abort()
    await vi.advanceTimersByTimeAsync(900)
    expect(waiting.decision?.allowed).toBe(false)
    expect((await limiter.check(ACME)).allowed).toBe(false)
    down.delete('run')
    await vi.advanceTimersByTimeAsync(300)
    expect((await limiter.check(ACME)).allowed).toBe(true)
  })

  it('when it looks: the decision is degraded, as without a line', async () => {
    const { limiter, patient, down, waits } = setUp([perMinute(2)])
    await useUp(limiter, 2)
    const waiting = begin(() => patient.check(ACME))
    await vi.advanceTimersByTimeAsync(9_500)
    down.add('check')
    await vi.advanceTimersByTimeAsync(1_000)
    expect(waiting.decision?.degraded).toMatchObject({ cause: 'store_unreachable' })
    expect(waits).toMatchObject([{ outcome: 'failed' }])
  })
})

it('looks five times at most, and makes twelve calls at most', async () => {
  const { store, patient, calls, waits } = setUp([perMinute(10)])
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
  const { limiter, patient } = setUp([perMinute(2)], { onWaited })
  await useUp(limiter, 2)
  const waiting = begin(() => patient.check(ACME))
  await vi.advanceTimersByTimeAsync(10_010)
  expect(waiting.decision?.allowed).toBe(true)
  expect(log).toHaveBeenCalledOnce()
})
