import { StoreError } from '@sluice/core'
import { settleWithRetry } from '@sluice/core/reservations'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { runTimersUntil } from '../../support/timers.ts'

beforeEach(() => void vi.useFakeTimers({ now: 0 }))
afterEach(() => void vi.useRealTimers())

/** Settles with a store that fails so often, and returns the times of the attempts and the outcome. */
async function settleAfter(failures: number, error: Error) {
  const times: number[] = []
  const settling = settleWithRetry(async () => {
    times.push(Date.now())
    if (times.length <= failures) throw error
    return { applied: true } as never
  }).then(
    () => 'settled',
    (thrown: unknown) => thrown,
  )
  await runTimersUntil(settling)
  return { times, outcome: await settling }
}

describe('settleWithRetry', () => {
  const down = new StoreError('store_timeout', 'no answer')

  it.each<[failures: number, times: number[], outcome: unknown]>([
    [0, [0], 'settled'],
    [1, [0, 200], 'settled'],
    [2, [0, 200, 600], 'settled'],
    [3, [0, 200, 600], down],
    [9, [0, 200, 600], down],
  ])('with %i failures makes its attempts at %j ms', async (failures, times, outcome) => {
    expect(await settleAfter(failures, down)).toEqual({ times, outcome })
  })

  it('throws at once what is no failure of the store', async () => {
    const mistake = new Error('mine')
    expect(await settleAfter(1, mistake)).toEqual({ times: [0], outcome: mistake })
  })
})
