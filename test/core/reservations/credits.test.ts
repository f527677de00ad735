/* Reservations of a balance that end elsewhere, late, by their id, or behind a guard. */
import { createLimiter, manualClock, type Limiter, type ManualClock } from '@sluice/core'
import { choices } from '@sluice/core/choices'
import { balance, credits, grant } from '@sluice/core/credits'
import { rateLimit, reservationOf, reserving } from '@sluice/core/http'
import { memory } from '@sluice/core/memory'
import {
  cancelById,
  fitRange,
  release,
  reservation,
  reserve,
  sweepUnsettled,
  type ReserveOptions,
} from '@sluice/core/reservations'
import { describe, expect, it } from 'vitest'
import { lawfulBalance } from '../../support/balance-law.ts'
import { ACME } from '../../support/limiters.ts'
import { HOUR, NOON } from '../../support/times.ts'

const GRANTED = 100_000
const COST = { usd: 60_000 }

interface Processes {
  /** Two limiters over one store. */
  readonly here: Limiter
  readonly there: Limiter
  readonly clock: ManualClock
}

async function setUp(unsettled: 'keep' | 'release' = 'keep'): Promise<Processes> {
  const clock = manualClock(NOON)
  const store = memory()
  const open = () =>
    createLimiter({
      store,
      clock,
      onStoreError: 'deny',
      policies: [credits({ name: 'credits', per: ['tenant'], unsettled })],
    })
  const here = open()
  await grant(here, ACME, { amount: GRANTED, id: 'g', at: NOON, kind: 'paid' })
  return { here, there: open(), clock }
}

async function mustReserve(limiter: Limiter, options: ReserveOptions = {}) {
  const call = await reserve(limiter, ACME, { cost: COST, ...options })
  if (!call.allowed) throw new Error(`denied: ${call.reason}`)
  return call
}

/** Settles the data of a reservation in another process. */
const elsewhere = (there: Limiter, call: object) =>
  reservation(there, JSON.parse(JSON.stringify(call)))

describe('a reservation of a balance', () => {
  it('is settled in another process, once', async () => {
    const { here, there } = await setUp()
    const call = await mustReserve(here)
    const other = elsewhere(there, call)
    expect(await other.settle({ usd: 7_000 })).toMatchObject({
      applied: true,
      returned: { usd: 53_000 },
    })
    expect(await call.settle({ usd: 9_000 })).toMatchObject({
      applied: false,
      why: 'settled_before',
    })
    expect(await lawfulBalance(here)).toMatchObject({ available: 93_000, held: 0 })
  })

  it('is cancelled in another process', async () => {
    const { here, there } = await setUp()
    await elsewhere(there, await mustReserve(here)).cancel()
    expect(await lawfulBalance(here)).toMatchObject({ available: GRANTED, held: 0 })
  })

  it('is given back by its id, and charges nothing from then on', async () => {
    const { here, there } = await setUp()
    const call = await mustReserve(here, { id: 'job1' })
    await cancelById(there, ACME, { id: 'job1', cost: COST })
    expect(await lawfulBalance(here)).toMatchObject({ available: GRANTED, held: 0 })
    expect(await call.settle({ usd: 9_000 })).toMatchObject({ applied: false })
    expect(await lawfulBalance(here)).toMatchObject({ available: GRANTED, held: 0 })
  })

  it('that was never made cannot be given back', async () => {
    const { here } = await setUp()
    await cancelById(here, ACME, { id: 'job1', cost: COST })
    expect(await lawfulBalance(here)).toMatchObject({ available: GRANTED, held: 0 })
    await expect(reserve(here, ACME, { id: 'job1', cost: COST })).resolves.toBeDefined()
    expect((await lawfulBalance(here)).available).toBeGreaterThanOrEqual(GRANTED - COST.usd)
  })

  it.each(['keep', 'release'] as const)(
    'that is settled an hour after its time costs what it used (%s)',
    async (unsettled) => {
      const { here, there, clock } = await setUp(unsettled)
      const late = await mustReserve(here)
      clock.advance(2 * HOUR)
      // With `release`, its units are there for the next.
      const next = await reserve(there, ACME, { cost: COST })
      expect(next.allowed).toBe(unsettled === 'release')
      await late.settle({ usd: 70_000 })
      const held = unsettled === 'release' ? COST.usd : 0
      expect(await lawfulBalance(here)).toMatchObject({
        balance: GRANTED - 70_000 - held,
        held,
        abandoned: 0,
      })
    },
  )

  it('with release() is given back by the next that would be denied, and by a sweep', async () => {
    const { here, there, clock } = await setUp()
    const unsettled = release()
    const dead = await mustReserve(here, { settleWithin: '2m', unsettled })
    clock.advance(HOUR)
    expect(await reserve(there, ACME, { cost: COST, unsettled })).toMatchObject({ allowed: true })
    expect(await lawfulBalance(here)).toMatchObject({ available: 40_000, held: COST.usd })
    clock.advance(2 * HOUR)
    expect(await sweepUnsettled(there, ACME)).toBe(1)
    expect(await lawfulBalance(here)).toMatchObject({ available: GRANTED, held: 0, abandoned: 0 })
    // The first one was at work all the time.
    await dead.settle({ usd: 9_000 })
    expect(await lawfulBalance(here)).toMatchObject({ available: 91_000, held: 0 })
  })

  it('denies without a time to wait, unless a call of this process holds what is missing', async () => {
    const { here, there } = await setUp()
    const call = await mustReserve(here)
    expect(await reserve(here, ACME, { cost: COST })).toMatchObject({
      allowed: false,
      reason: 'concurrency_exceeded',
      retryAfterMs: 1_000,
    })
    expect(await reserve(there, ACME, { cost: COST })).toMatchObject({
      allowed: false,
      reason: 'credits_exhausted',
      retryAfterMs: null,
    })
    await call.settle({ usd: 60_000 })
    expect(await reserve(here, ACME, { cost: COST })).toMatchObject({
      allowed: false,
      reason: 'credits_exhausted',
      retryAfterMs: null,
    })
    expect(await lawfulBalance(here)).toMatchObject({ available: 40_000, held: 0 })
  })

  it('is fitted to what is left', async () => {
    const { here } = await setUp()
    const fit = fitRange({ floor: 100, most: 50_000, rates: { usd: 10_000_000 } })
    const call = await reserve(here, ACME, { cost: { usd: 1_000 }, fit })
    expect(call).toMatchObject({ allowed: true, granted: 9_900 })
    expect(await lawfulBalance(here)).toMatchObject({ available: 0, held: GRANTED })
  })

  it('takes the first choice that there are credits for', async () => {
    const { here } = await setUp()
    const call = await reserve(here, ACME, {
      choices: choices([
        { subject: { model: 'm0' }, cost: { usd: 200_000 } },
        { subject: { model: 'm1' }, cost: { usd: 30_000 } },
        { subject: { model: 'm2' }, cost: { usd: 10_000 } },
      ]),
    })
    expect(call).toMatchObject({ allowed: true, choice: 1 })
    expect(await lawfulBalance(here)).toMatchObject({ available: 70_000, held: 30_000 })
  })
})

type Handle = (request: Request) => Response | Promise<Response>

const ok = () => Response.json({})
const use = async (request: Request, usd: number) => {
  await reservationOf(request).settle({ usd })
  return ok()
}

/** Handlers behind a guard that reserves, and the units that are spent and still held after them. */
const HANDLERS: Readonly<Record<string, readonly [handle: Handle, spent: number, held: number]>> = {
  'that settles': [async (request) => use(request, 7_000), 7_000, 0],
  'that used more than there was': [async (request) => use(request, 130_000), 130_000, 0],
  'that cancels': [
    async (request) => {
      await reservationOf(request).cancel()
      return ok()
    },
    0,
    0,
  ],
  'that does not settle': [ok, 0, 60_000],
  'that throws': [
    () => {
      throw new Error('no')
    },
    0,
    60_000,
  ],
}

describe('a route that reserves credits', () => {
  it.each(Object.entries(HANDLERS))('with a handler %s', async (_, [handle, spent, held]) => {
    const { here } = await setUp()
    const limited = rateLimit(
      here,
      { routes: ['/**'], subject: () => ACME, cost: reserving(COST) },
      handle,
    )
    await Promise.resolve(limited(new Request('https://app.example/'))).catch(() => undefined)
    expect(await lawfulBalance(here)).toMatchObject({
      balance: GRANTED - spent - held,
      held,
      debt: Math.max(0, spent - GRANTED),
    })
  })

  it('hands its reservation to another process', async () => {
    const { here, there } = await setUp()
    let message = ''
    const limited = rateLimit(
      here,
      { routes: ['/**'], subject: () => ACME, cost: reserving(COST) },
      (request: Request) => {
        message = JSON.stringify(reservationOf(request))
        return ok()
      },
    )
    await limited(new Request('https://app.example/'))
    await reservation(there, JSON.parse(message)).settle({ usd: 5_000 })
    expect(await lawfulBalance(here)).toMatchObject({ available: 95_000, held: 0 })
  })

  it('charges what a request costs at once without reserving, and nothing without credits', async () => {
    const { here } = await setUp()
    let ran = 0
    const limited = rateLimit(here, { routes: ['/**'], subject: () => ACME, cost: COST }, () => {
      ran += 1
      return ok()
    })
    const statuses = []
    for (let n = 0; n < 3; n += 1) {
      statuses.push((await limited(new Request('https://app.example/'))).status)
    }
    expect([statuses, ran]).toEqual([[200, 429, 429], 1])
    expect(await balance(here, ACME)).toMatchObject({ available: 40_000, held: 0 })
  })
})
