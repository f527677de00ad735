import { manualClock, type Store } from '@sluice/core'
import { reservation } from '@sluice/core/reservations'
import { describe, expect, it } from 'vitest'
import { spend } from '../../support/decisions.ts'
import { ACME, setUp } from '../../support/limiters.ts'
import { losingStore } from '../../support/losing-store.ts'
import { HOUR, MINUTE } from '../../support/times.ts'
import { mustReserve } from '../reservations/support.ts'
import { dailyBy, storesOfAll } from './support.ts'

const policy = (zone: string) => dailyBy(10, { zone })

/** A day of 24 hours ends in Berlin, then one of 23. */
const STROKE = Date.parse('2026-03-28T23:00Z')
const NEXT = Date.parse('2026-03-29T22:00Z')
const RESERVED = STROKE - HOUR

/** A process that reserves 4 of 10, and one that settles what it has of it as text, with the zone of a later deploy. */
async function twoProcesses(store: Store, settling: Store = store) {
  const clock = manualClock(RESERVED)
  const { limiter: web } = setUp([policy('Europe/Berlin')], { store, clock })
  const { limiter: worker } = setUp([policy('Asia/Tokyo')], {
    store: settling,
    clock,
    onStoreError: 'deny',
  })
  const call = await mustReserve(web, ACME, { cost: 4, settleWithin: '7d' })
  const text = JSON.stringify(call)
  const settle = (request: number) => reservation(worker, JSON.parse(text)).settle({ request })
  const left = async () => (await web.peek(ACME, { cost: 0 })).policies[0]
  return { web, clock, settle, left }
}

interface Case {
  readonly at: number
  readonly actual: number
  /** Requests between the reservation and its settlement, at the time of the settlement. */
  readonly spent?: number
  readonly isReset?: boolean
  readonly returned?: number
  readonly overrun?: number
  readonly left: number
  /** The end of the period then. @default the next one of Berlin */
  readonly end?: number
}

const BEFORE = STROKE - MINUTE
const AFTER = STROKE + MINUTE
const LATE = NEXT + MINUTE

const CASES: Readonly<Record<string, Case>> = {
  'below, before the stroke': { at: BEFORE, actual: 1, returned: 3, left: 9 },
  'above, before the stroke': { at: BEFORE, actual: 6, overrun: 2, left: 4 },
  'above, in the last millisecond': { at: STROKE - 1, actual: 6, overrun: 2, left: 4 },
  'below, at the stroke': { at: STROKE, actual: 1, left: 10 },
  'above, at the stroke: the next day is charged': {
    at: STROKE,
    actual: 6,
    overrun: 2,
    left: 8,
    end: NEXT,
  },
  'below, in the next day': { at: AFTER, actual: 1, left: 10 },
  'below, in a next day that runs': { at: AFTER, actual: 1, spent: 3, left: 7, end: NEXT },
  'above, in the next day': { at: AFTER, actual: 6, overrun: 2, left: 8, end: NEXT },
  'above, in a next day that runs': {
    at: AFTER,
    actual: 6,
    spent: 3,
    overrun: 2,
    left: 5,
    end: NEXT,
  },
  'below, after the next day': { at: LATE, actual: 1, left: 10 },
  'above, after the next day: no day is known': { at: LATE, actual: 6, left: 10 },
  'above, after the next day, in one that runs': {
    at: LATE,
    actual: 6,
    spent: 3,
    overrun: 2,
    left: 5,
  },
  'below, after a reset': { at: BEFORE, actual: 1, isReset: true, left: 10 },
  'below, after a reset and other requests': {
    at: BEFORE,
    actual: 1,
    isReset: true,
    spent: 1,
    returned: 1,
    left: 10,
  },
  'above, after a reset': { at: BEFORE, actual: 6, isReset: true, overrun: 2, left: 8 },
  'above, after a reset, in the next day': {
    at: AFTER,
    actual: 6,
    isReset: true,
    overrun: 2,
    left: 8,
    end: NEXT,
  },
}

const unitsOf = (units: number | undefined) => (units ? { request: units } : {})

describe.each(Object.entries(storesOfAll()))(
  'a settlement by another process, in %s',
  (_, make) => {
    it.each(Object.entries(CASES))('%s', async (__, given) => {
      const { at, actual, spent = 0, isReset, returned, overrun, left, end } = given
      const process = await twoProcesses(make())
      if (isReset) await process.web.reset(ACME)
      process.clock.set(at)
      await spend(process.web, spent)
      const first = await process.settle(actual)
      expect(first).toEqual({
        applied: true,
        returned: unitsOf(returned),
        overrun: unitsOf(overrun),
      })
      const state = await process.left()
      expect(state?.remaining).toBe(left)
      const expected = end ?? (at < STROKE ? STROKE : at < NEXT ? NEXT : NEXT + 24 * HOUR)
      expect(at + (state?.resetMs ?? 0)).toBe(expected)
      // A repetition says the same, and moves nothing.
      expect(await process.settle(actual)).toMatchObject({ applied: false, why: 'settled_before' })
      expect(await process.left()).toEqual(state)
    })

    it.each([BEFORE, AFTER, LATE])('is made once if its reply is lost, at %d', async (at) => {
      const store = make()
      const losing = losingStore(store)
      const { settle, clock, left } = await twoProcesses(store, losing.store)
      clock.set(at)
      losing.lose(['reply'])
      await settle(6).catch(() => undefined)
      const after = await left()
      expect(after?.remaining).toBe(at === BEFORE ? 4 : at === AFTER ? 8 : 10)
      const again = await settle(6)
      expect(again).toMatchObject({ overrun: at === LATE ? {} : { request: 2 } })
      expect(await left()).toEqual(after)
    })
  },
)
