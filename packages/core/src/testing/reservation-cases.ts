import type { Settled } from '../reservations/settle.ts'
import type { Store } from '../stores/store.ts'
import { concurrency } from '../policies/concurrency.ts'
import { fixedWindow } from '../policies/fixed-window.ts'
import { slidingWindow } from '../policies/sliding-window.ts'
import { slidingWindows } from '../policies/sliding-windows.ts'
import { tokenBucket } from '../policies/token-bucket.ts'
import { fitRange } from '../reservations/fit.ts'
import { reservation, type Reservation } from '../reservations/reservation.ts'
import { release, sweepUnsettled } from '../reservations/release-unsettled.ts'
import { reserve, type ReserveOptions } from '../reservations/reserve.ts'
import { pause } from '../internal/single-flight.ts'
import { createLimiter } from '../limiter/limiter.ts'
import { freshSubject, probe, remainingUnits, type Probe } from './probe.ts'
import { expectEqual, expectThat, type Cases } from './suite.ts'

const HOUR = fixedWindow({ name: 'hour', limit: 10, window: '1h', per: ['tenant'] })
const POLICIES = [
  HOUR,
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

  async 'what nobody settles is released, once, if it was reserved so'(store) {
    const target = probe(store, [HOUR])
    const options = { cost: 6, settleWithin: '2m', unsettled: release() } as const
    await reserveAllowed(target, options)
    await reserveAllowed(target, { ...options, cost: 1, settleWithin: '10m' })
    target.clock.advance(119_999)
    const sweep = (): Promise<number> => sweepUnsettled(target.limiter, target.subject)
    expectEqual(await sweep(), 0, 'Released before the time to settle is over')
    target.clock.advance(1)
    expectEqual(await sweep(), 1, 'Released')
    expectEqual(await sweep(), 0, 'Released again')
    expectEqual(remainingUnits(await target.peek()), { hour: 9 }, 'Remaining')
  },

  async 'a denial first releases what nobody settles'(store) {
    const target = probe(store, [HOUR])
    const options = { cost: 8, settleWithin: '2m', unsettled: release() } as const
    await reserveAllowed(target, options)
    target.clock.advance(120_000)
    await reserveAllowed(target, options)
  },

  async 'calls in flight are counted until they end, or for their longest time'(store) {
    const calls = concurrency({ name: 'calls', limit: 2, per: ['tenant'], maxDuration: '1m' })
    const target = probe(store, [calls])
    const begin = async () => target.verify(await reserve(target.limiter, target.subject))
    const first = await begin()
    await begin()
    expectThat(!(await begin()).allowed, 'A third call at once must be denied')
    if (!first.allowed) throw new Error('The first call must be allowed')
    await first.settle({})
    expectThat((await begin()).allowed, 'A call must be allowed after another has ended')
    expectThat(!(await begin()).allowed, 'There are two calls again')
    target.clock.advance(60_000)
    expectThat((await begin()).allowed, 'A call that nobody ends counts for `maxDuration`')
  },

  async 'windows that share a log count a request once, and settle it once'(store) {
    const windows = {
      minute: { limit: 5, window: '1m' },
      hour: { limit: 7, window: '1h' },
    } as const
    const target = probe(store, [slidingWindows({ name: 'log', windows, per: ['tenant'] })])
    const call = await reserveAllowed(target, { cost: 4 })
    expectEqual(Object.values(remainingUnits(await target.peek())), [1, 3], 'Remaining')
    await call.settle({ request: 2 })
    expectEqual(Object.values(remainingUnits(await target.peek())), [3, 5], 'Once it is settled')
    await target.spend(3)
    expectThat(!(await target.check()).allowed, 'The minute is full')
    target.clock.advance(60_000)
    await target.spend(2)
    expectThat(!(await target.check()).allowed, 'The hour is full')
  },

  async 'an estimate is final once the time to settle is over'(store) {
    const limiter = createLimiter({ store, policies: POLICIES })
    const call = await reserve(limiter, freshSubject(), { cost: 6, settleWithin: '50ms' })
    if (!call.allowed) throw new Error('The reservation must be allowed')
    await pause(150)
    expectEqual(facts(await call.cancel()), [false, 'too_late', 0, 0], 'Cancelled')
  },
}
