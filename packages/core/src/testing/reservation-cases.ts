import type { Reservation } from '../reservations/reservation.ts'
import type { Settled } from '../reservations/settle.ts'
import type { ReserveOptions } from '../reservations/reserve.ts'
import type { Store } from '../stores/store.ts'
import type { Probe } from './probe.ts'
import type { Cases } from './suite.ts'
import { fixedWindow } from '../policies/fixed-window.ts'
import { slidingWindow } from '../policies/sliding-window.ts'
import { tokenBucket } from '../policies/token-bucket.ts'
import { fitRange } from '../reservations/fit.ts'
import { reservation } from '../reservations/reservation.ts'
import { reserve } from '../reservations/reserve.ts'
import { pause } from '../internal/single-flight.ts'
import { createLimiter } from '../limiter/limiter.ts'
import { freshSubject, probe, remainingUnits } from './probe.ts'
import { expectEqual, expectThat } from './suite.ts'

const POLICIES = [
  fixedWindow({ name: 'hour', limit: 10, window: '1h', per: ['tenant'] }),
  slidingWindow({ name: 'minute', limit: 10, window: '1m', per: ['tenant'] }),
  tokenBucket({ name: 'bucket', limit: 10, window: '1m', per: ['tenant'] }),
]

const TOKENS = { limit: 9, unit: 'token', per: ['tenant'] } as const
const POLICIES_OF_TOKENS = [
  fixedWindow({ name: 'hour', window: '1h', ...TOKENS }),
  slidingWindow({ name: 'minute', window: '1m', ...TOKENS }),
  tokenBucket({ name: 'bucket', window: '1m', ...TOKENS }),
]
const FIT = fitRange({ floor: 2, most: 4, rates: { token: 1_000_000 } })

const left = (units: number): Record<string, number> => ({
  hour: units,
  minute: units,
  bucket: units,
})

async function reserveAllowed(
  { limiter, subject, verify }: Probe,
  options: ReserveOptions,
): Promise<Reservation> {
  const call = verify(await reserve(limiter, subject, options))
  if (!call.allowed) throw new Error('The reservation must be allowed')
  return call
}

const facts = ({ applied, why, returned, overrun }: Settled): unknown => [
  applied,
  why,
  returned['request'] ?? 0,
  overrun['request'] ?? 0,
]

/** The claims about charges that are settled. */
export const reservationCases: Cases<Store> = {
  async 'what was reserved and not used is given back'(store) {
    const target = probe(store, POLICIES)
    const call = await reserveAllowed(target, { cost: 6 })
    expectEqual(remainingUnits(await target.peek()), left(4), 'Remaining while it is reserved')
    expectEqual(facts(await call.settle({ request: 2 })), [true, undefined, 4, 0], 'Settled')
    expectEqual(remainingUnits(await target.peek()), left(8), 'Remaining once it is settled')
  },

  async 'what was used beyond the reservation is charged, even past the limit'(store) {
    const target = probe(store, POLICIES)
    const call = await reserveAllowed(target, { cost: 1 })
    expectEqual(facts(await call.settle({ request: 13 })), [true, undefined, 0, 12], 'Settled')
    expectEqual(remainingUnits(await target.peek()), left(0), 'Remaining')
    target.clock.advance(6_000)
    expectThat(!(await target.check()).allowed, 'A bucket that is 3 over must let 4 flow in first')
  },

  async 'a reservation is settled once, also by many at once'(store) {
    const target = probe(store, POLICIES)
    const call = await reserveAllowed(target, { cost: 6 })
    const all = await Promise.all(Array.from({ length: 8 }, () => call.settle({ request: 3 })))
    expectEqual(all.filter(({ applied }) => applied).length, 1, 'Settlements that are applied')
    const again = facts(await call.cancel())
    expectEqual(
      again,
      [false, 'settled_before', 3, 0],
      'Settled again: what the first call returned',
    )
    expectEqual(remainingUnits(await target.peek()), left(7), 'Remaining')
  },

  async 'a reservation can be settled by another limiter of the store, from its data'(store) {
    const target = probe(store, POLICIES)
    const data = JSON.stringify(await reserveAllowed(target, { cost: 6 }))
    const other = probe(store, POLICIES, target.clock)
    expectEqual((await reservation(other.limiter, data).cancel()).applied, true, 'Cancelled')
    expectEqual(remainingUnits(await target.peek()), left(10), 'Remaining')
  },

  async 'a denial reserves nothing'(store) {
    const target = probe(store, POLICIES)
    await target.spend(1, 7)
    const denied = target.verify(await reserve(target.limiter, target.subject, { cost: 4 }))
    expectThat(!denied.allowed, '7 + 4 of 10 must be denied')
    expectEqual(remainingUnits(await target.peek()), left(3), 'Remaining')
  },

  async 'a fit is granted the most that every policy has room for, and charged exactly that'(
    store,
  ) {
    const target = probe(store, POLICIES_OF_TOKENS)
    const take = async () =>
      target.verify(await reserve(target.limiter, target.subject, { cost: { token: 1 }, fit: FIT }))
    for (const expected of [4, 3]) {
      const call = await take()
      expectThat(call.allowed, 'A fit must be allowed while its floor fits')
      expectEqual(call.allowed && call.granted, expected, 'Granted')
      const charged = call.policies.map(({ cost }) => cost)
      expectEqual(
        charged,
        charged.map(() => expected + 1),
        'Charged',
      )
    }
    expectEqual(remainingUnits(await target.peek({ token: 0 })), left(0), 'Remaining')
    expectThat(!(await take()).allowed, 'A fit must be denied if its floor does not fit')
    expectEqual(
      remainingUnits(await target.peek({ token: 0 })),
      left(0),
      'A denial charges nothing',
    )
  },

  async 'a fit that was not used up is given back'(store) {
    const target = probe(store, POLICIES_OF_TOKENS)
    const call = await reserveAllowed(target, { cost: { token: 1 }, fit: FIT })
    const { returned } = await call.settle({ token: 2 })
    expectEqual(returned, { token: 3 }, 'Given back')
    expectEqual(remainingUnits(await target.peek({ token: 0 })), left(7), 'Remaining')
  },

  async 'a window that is over gives nothing back, and is charged nothing'(store) {
    const target = probe(store, POLICIES)
    const call = await reserveAllowed(target, { cost: 6, settleWithin: '1d' })
    target.clock.advance(3_600_000)
    await target.spend(1, 5)
    expectEqual(facts(await call.cancel()), [true, undefined, 0, 0], 'Cancelled')
    expectEqual(remainingUnits(await target.peek()), left(5), 'Remaining')
  },

  async 'an estimate is final once the time to settle is over'(store) {
    const limiter = createLimiter({ store, policies: POLICIES })
    const call = await reserve(limiter, freshSubject(), { cost: 6, settleWithin: '50ms' })
    if (!call.allowed) throw new Error('The reservation must be allowed')
    await pause(150)
    expectEqual(facts(await call.cancel()), [false, 'too_late', 0, 0], 'Cancelled')
  },
}
