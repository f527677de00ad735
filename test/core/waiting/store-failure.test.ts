import { slidingWindow } from '@sluice/core'
import { waitingLine } from '@sluice/core/waiting'
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

describe('a store that fails', () => {
  it('while a request joins: it is denied, and the problem is reported', async () => {
    const { limiter, patient, down, waits, problems } = setUp([perTenSeconds(2)])
    await useUp(limiter, 2)
    down.add('run')
    expect(await patient.check(ACME)).toMatchObject({ allowed: false, retryAfterMs: 10_000 })
    expect(waits).toMatchObject([{ outcome: 'failed' }])
    expect(problems).toMatchObject([{ code: 'store_unreachable' }])
    expect(problems[0]?.message).toContain('could not wait')
  })

  it.each([[['run']], [['check']], [['check', 'run']]] as const)(
    'when it looks half-way (%s): it waits on, and nothing is charged elsewhere',
    async (failing) => {
      const { limiter, patient, down } = setUp([
        waitingLine(slidingWindow({ name: 'rpm', limit: 2, window: '19s', per: ['tenant'] })),
      ])
      await useUp(limiter, 2)
      const waiting = begin(() => patient.check(ACME))
      await vi.advanceTimersByTimeAsync(9_000)
      for (const kind of failing) down.add(kind)
      await vi.advanceTimersByTimeAsync(1_000)
      expect(await patient.peek(ACME)).toMatchObject(
        failing[0] === 'check' ? { source: 'memory', policies: [{ remaining: 2 }, {}] } : {},
      )
      down.clear()
      await vi.advanceTimersByTimeAsync(8_900)
      expect(waiting.decision).toBeUndefined()
      await vi.advanceTimersByTimeAsync(110)
      expect(waiting.decision).toMatchObject({ allowed: true, degraded: undefined })
    },
  )

  it('when it leaves: it leaves again later', async () => {
    const gone = new AbortController()
    const { limiter, patient, down } = setUp([perTenSeconds(10)], { signal: gone.signal })
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
    const { limiter, patient, down, waits } = setUp([perTenSeconds(2)])
    await useUp(limiter, 2)
    const waiting = begin(() => patient.check(ACME))
    await vi.advanceTimersByTimeAsync(9_500)
    down.add('check')
    await vi.advanceTimersByTimeAsync(1_000)
    expect(waiting.decision?.degraded).toMatchObject({ cause: 'store_unreachable' })
    expect(waits).toMatchObject([{ outcome: 'failed' }])
  })
})
