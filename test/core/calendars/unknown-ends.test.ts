import { createLimiter, dailyCap, fixedWindow, StoreError } from '@sluice/core'
import { calendar } from '@sluice/core/calendars'
import { memory } from '@sluice/core/memory'
import { describe, expect, it } from 'vitest'
import { withClock } from './support.ts'

const NOW = Date.UTC(2026, 2, 10, 12)
const DAY_MS = 86_400_000

/** A process whose clock is days ahead, and a store that answers the first of its questions. */
function aheadByDays(onStoreError: 'allow' | 'deny', answers: number) {
  const store = withClock(memory(), () => NOW)
  let asked = 0
  return createLimiter({
    store: {
      ...store,
      check: (request) => {
        asked += 1
        return asked > answers
          ? Promise.reject(new StoreError('store_unreachable', 'no answer'))
          : store.check(request)
      },
    },
    clock: () => NOW + 4 * DAY_MS,
    onStoreError,
    policies: [
      dailyCap({
        name: 'daily',
        limit: 10,
        per: 'global',
        resets: calendar({ zone: 'Europe/Berlin' }),
      }),
      fixedWindow({ name: 'minute', limit: 100, window: '1m', per: 'global' }),
    ],
  })
}

describe('a process that knows no end of the period that runs asks once more', () => {
  it('and is let in by the answer', async () => {
    const { allowed, degraded } = await aheadByDays('deny', 2).check({})
    expect({ allowed, degraded }).toEqual({ allowed: true, degraded: undefined })
  })

  it.each([
    ['allow', true],
    ['deny', false],
  ] as const)(
    'and without an answer decides by onStoreError: %s',
    async (onStoreError, allowed) => {
      const decision = await aheadByDays(onStoreError, 1).check({})
      expect(decision).toMatchObject({ allowed, degraded: { cause: 'store_unreachable' } })
      expect(decision.reason).not.toBe('daily_quota_exceeded')
    },
  )
})
