import { manualClock, createLimiter, InputError, type Store } from '@sluice/core'
import { calendar } from '@sluice/core/calendars'
import {
  adjust,
  balance,
  credits,
  grant,
  revoke,
  settleHold,
  type Balance,
} from '@sluice/core/credits'
import { memory } from '@sluice/core/memory'
import { reserve, type Reservation } from '@sluice/core/reservations'
import { describe, expect, it } from 'vitest'
import { sharedRedis } from '../../support/running-redis.ts'
import { DAY, HOUR, NOON } from '../../support/times.ts'

const redis = sharedRedis()
const SUBJECT = { tenant: 'acme' }
const UNIT = 'credit'

/** A source of numbers below a bound, the same for the same seed. */
function randomFrom(seed: number): (below: number) => number {
  let state = seed * 7919 + 17
  return (below) => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
    return Math.floor((state / 2_147_483_648) * below)
  }
}

const POLICIES = {
  prepaid: { unsettled: 'keep' },
  'prepaid, released': { unsettled: 'release' },
  included: {
    unsettled: 'keep',
    included: { amount: 50, resets: calendar({ every: 'day' }) },
  },
  'included, rolled over, released': {
    unsettled: 'release',
    included: { amount: 30, rollover: 45, resets: calendar({ every: 'day', zone: 'Asia/Tokyo' }) },
  },
} as const

/** Makes the same changes in a store, step by step; returns the balance after each, and its answers. */
function historyIn(store: Store, policy: keyof typeof POLICIES) {
  const clock = manualClock(NOON)
  const limiter = createLimiter({
    store,
    clock,
    onStoreError: 'deny',
    policies: [credits({ name: 'credits', per: ['tenant'], unit: UNIT, ...POLICIES[policy] })],
  })
  const open: Reservation<typeof UNIT>[] = []
  const ids: string[] = []
  return async (random: (below: number) => number) => {
    const step = random(10)
    const amount = 1 + random(40)
    let answer: unknown
    if (step === 0) {
      ids.push(`g${ids.length}`)
      const expiresAt = random(3) === 0 ? undefined : clock() + (1 + random(4)) * 12 * HOUR
      const effectiveAt = random(4) === 0 ? clock() + random(10) * HOUR : undefined
      const options = {
        amount,
        at: clock(),
        kind: random(2) === 0 ? 'paid' : 'promotional',
        priority: random(3),
        effectiveAt,
        expiresAt: expiresAt && effectiveAt ? expiresAt + DAY : expiresAt,
      } as const
      answer = await grant(limiter, SUBJECT, { ...options, id: ids.at(-1) as string })
      if (random(3) === 0) {
        answer = [answer, await grant(limiter, SUBJECT, { ...options, id: ids.at(-1) as string })]
      }
    } else if (step === 1) {
      const id = ids[random(ids.length + 1)] ?? 'unknown'
      answer = await revoke(limiter, SUBJECT, id, { debt: random(2) === 0 }).catch(codeOf)
    } else if (step === 2) {
      const change = random(2) === 0 ? amount : -amount
      answer = await adjust(limiter, SUBJECT, {
        amount: change,
        id: `a${random(1e9)}`,
        at: clock(),
        reason: 'test',
      })
    } else if (step < 5) {
      answer = await limiter.check(SUBJECT, { cost: { [UNIT]: amount } })
    } else if (step < 8) {
      const call = await reserve(limiter, SUBJECT, {
        cost: { [UNIT]: amount },
        settleWithin: `${1 + random(5)}h`,
        id: `r${random(1e9)}`,
      })
      if (call.allowed) open.push(call)
      answer = { ...call, id: undefined }
    } else if (step === 8 && open.length > 0) {
      const [call] = open.splice(random(open.length), 1)
      const used = random(3) === 0 ? random(80) : random(amount + 1)
      // The mark of a reservation ends by the machine's clock in Redis.
      const isLate = clock() > JSON.parse(JSON.stringify(call)).settleBy + 20 * HOUR
      answer = isLate ? 'late' : await call?.settle({ [UNIT]: used })
    } else {
      clock.advance(random(3) === 0 ? random(2 * DAY) : random(2 * HOUR))
      const { reservations } = await balance(limiter, SUBJECT)
      const abandoned = reservations.find(({ isAbandoned }) => isAbandoned)
      if (abandoned && random(2) === 0) {
        answer = await settleHold(limiter, SUBJECT, abandoned.id, random(20))
      }
    }
    return { answer: { step, answer }, after: await balance(limiter, SUBJECT) }
  }
}

const codeOf = (error: unknown) => (error instanceof InputError ? error.code : String(error))

/** An answer without its source, as JSON. */
const plain = (value: unknown): unknown =>
  JSON.parse(JSON.stringify(value).replaceAll('"memory"', '"store"'))

/** The law of a balance. */
function expectLaw({ totals, held, abandoned, balance: left, lots, debt }: Balance): void {
  const { granted, adjusted, revoked, expired, settled } = totals
  expect(granted + adjusted - revoked - expired - settled - held - abandoned).toBe(left)
  expect(lots.reduce((sum, lot) => sum + lot.left, 0) - debt).toBe(left)
}

describe.each(Object.keys(POLICIES) as (keyof typeof POLICIES)[])('a balance, %s', (policy) => {
  it.each(Array.from({ length: Number(process.env.CREDITS_SEEDS ?? 4) }, (_, seed) => seed))(
    'is the same in memory and in Redis, and keeps the law (seed %i)',
    async (seed) => {
      const [inMemory, inRedis] = [historyIn(memory(), policy), historyIn(redis.store(), policy)]
      const randoms = [randomFrom(seed + 1), randomFrom(seed + 1)] as const
      for (let step = 0; step < 120; step += 1) {
        const one = await inMemory(randoms[0])
        const other = await inRedis(randoms[1])
        expect(plain(other), `step ${step}`).toEqual(plain(one))
        expectLaw(one.after)
      }
    },
  )
})
