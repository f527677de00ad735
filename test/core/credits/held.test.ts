import { concurrency, createLimiter, manualClock } from '@sluice/core'
import { credits, grant } from '@sluice/core/credits'
import { memory } from '@sluice/core/memory'
import { reserve } from '@sluice/core/reservations'
import { describe, expect, it } from 'vitest'
import { ACME } from '../../support/limiters.ts'
import { NOON } from '../../support/times.ts'

/** Two processes over one store, with a balance of 100. */
async function twoProcesses() {
  const store = memory()
  const make = () =>
    createLimiter({
      store,
      clock: manualClock(NOON),
      onStoreError: 'deny',
      policies: [
        credits({ name: 'credits', per: ['tenant'], unit: 'credit', unsettled: 'keep' }),
        concurrency({ name: 'calls', limit: 5, per: ['tenant'], maxDuration: '5m' }),
      ],
    })
  const [here, there] = [make(), make()]
  await grant(here, ACME, { amount: 100, id: 'g', at: NOON, kind: 'paid' })
  return { here, there }
}

describe('a balance that denies', () => {
  it('says that calls hold what is missing, if those of this process hold all of it', async () => {
    const { here } = await twoProcesses()
    await reserve(here, ACME, { cost: { credit: 70, call: 1 } })
    const denied = await reserve(here, ACME, { cost: { credit: 90, call: 1 } })
    expect(denied).toMatchObject({ reason: 'concurrency_exceeded', retryAfterMs: 1_000 })
    const tooMuch = await reserve(here, ACME, { cost: { credit: 101, call: 1 } })
    expect(tooMuch).toMatchObject({ reason: 'credits_exhausted', retryAfterMs: null })
  })

  it('is exhausted where another process has calls in flight', async () => {
    const { here, there } = await twoProcesses()
    await there.check(ACME, { cost: { credit: 100, call: 0 } })
    await reserve(there, ACME, { cost: { credit: 0, call: 1 } })
    const denied = await reserve(here, ACME, { cost: { credit: 1, call: 1 } })
    expect(denied).toMatchObject({ reason: 'credits_exhausted', retryAfterMs: null })
  })
})
