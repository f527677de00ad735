import { createLimiter, slidingWindow, type LimiterOptions, type Store } from '@sluice/core'
import { configure, runtimeConfiguration } from '@sluice/core/configuration'
import { memory } from '@sluice/core/memory'
import { waitFor, waitingLine } from '@sluice/core/waiting'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { ACME } from '../../support/limiters.ts'
import { NOON } from '../../support/times.ts'
import { begin, useUp } from './requests.ts'

beforeEach(() => {
  vi.useFakeTimers({ now: NOON })
})
afterEach(() => {
  vi.useRealTimers()
})

type Change = Parameters<typeof configure>[1]

/** Two isolates over one store, one of which waits up to 20 seconds. */
function isolates(store: Store = memory()) {
  const options: LimiterOptions = {
    store,
    policies: [
      waitingLine(slidingWindow({ name: 'rpm', limit: 10, window: '18s', per: ['tenant'] })),
    ],
    extensions: [runtimeConfiguration({ allow: { rpm: ['limit', 'mode'] } })],
  }
  const [here, there] = [createLimiter(options), createLimiter(options)]
  return { here, there, patient: waitFor(here, '20s') }
}

/** The decision of a request that waits for a full limit of 10, which is changed after five seconds. */
async function changedWhileItWaits(change: Change, cost = 1) {
  const { here, there, patient } = isolates()
  await useUp(there, 10)
  const waiting = begin(() => patient.check(ACME, { cost }))
  await vi.advanceTimersByTimeAsync(5_000)
  await configure(there, { rpm: change['rpm'] ?? null })
  await vi.advanceTimersByTimeAsync(15_000)
  return { ...waiting, here, there }
}

describe('a limit that is changed while a request waits', () => {
  it('lowered: what waits does not exceed it', async () => {
    const { here, there, patient } = isolates()
    await useUp(there, 10)
    const waiting = Array.from({ length: 10 }, () => begin(() => patient.check(ACME)))
    await vi.advanceTimersByTimeAsync(5_000)
    await configure(there, { rpm: { limit: 3 } })
    await vi.advanceTimersByTimeAsync(20_000)
    expect(waiting.filter(({ decision }) => decision?.allowed)).toHaveLength(3)
    for (const { decision } of waiting) expect(decision?.policies[0]?.limit).toBe(3)
    expect(await here.peek(ACME)).toMatchObject({ allowed: false, violated: { name: 'rpm' } })
  })

  it('raised: it is let in half-way', async () => {
    const { decision, afterMs } = await changedWhileItWaits({ rpm: { limit: 11 } })
    expect(decision).toMatchObject({ allowed: true, policies: [{ limit: 11, remaining: 0 }, {}] })
    expect(afterMs).toBe(9_000)
  })

  it('lowered below its cost: it is denied half-way, and holds up nobody', async () => {
    const { decision, afterMs, there } = await changedWhileItWaits({ rpm: { limit: 3 } }, 4)
    expect(decision).toMatchObject({ allowed: false, reason: 'cost_exceeds_limit' })
    expect(afterMs).toBe(9_000)
    expect((await there.check(ACME)).allowed).toBe(true)
  })

  it('switched to shadow: it is let in half-way', async () => {
    const { decision, afterMs } = await changedWhileItWaits({ rpm: { mode: 'shadow' } })
    expect(decision).toMatchObject({ allowed: true, policies: [{ fits: false }, {}] })
    expect(afterMs).toBe(9_000)
  })

  it('not at all: it waits to the end', async () => {
    const { decision, afterMs } = await changedWhileItWaits({ rpm: null })
    expect(decision).toMatchObject({ allowed: true })
    expect(afterMs).toBe(18_002)
  })
})
