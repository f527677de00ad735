import { readFileSync } from 'node:fs'
import { createLimiter, manualClock } from '@sluice/core'
import { calendar } from '@sluice/core/calendars'
import { adjust, balance, credits, grant, revoke, settleHold } from '@sluice/core/credits'
import { reserve, type Reservation } from '@sluice/core/reservations'
import { beforeAll, describe, expect, it } from 'vitest'
import { tableOf } from '../support/markdown.ts'
import { freshPrefix } from '../support/stores.ts'
import { DAY, HOUR, NOON } from '../support/times.ts'
import { own } from './support.ts'

const page = readFileSync(new URL('../../docs/performance.md', import.meta.url), 'utf8')
const ACME = { tenant: 'acme' }
const UNIT = 'credit'

/** A limiter whose only limit is a balance; by the clock of Redis unless one is given. */
function limiterOf(prefix: string, clock?: () => number, included = false) {
  const resets = calendar({ every: 'month' })
  const policy = credits({
    name: 'credits',
    per: ['tenant'],
    unit: UNIT,
    unsettled: 'keep',
    ...(included && { included: { amount: 1_000, resets } }),
  })
  return createLimiter({
    store: own.store(prefix),
    onStoreError: 'deny',
    policies: [policy],
    ...(clock && { clock }),
  })
}

const costOf = (amount: number) => ({ cost: { [UNIT]: amount } })

/** The commands and the writes of each step. The first subject has loaded its script. */
async function measured(included: boolean) {
  const limiter = limiterOf(freshPrefix(), undefined, included)
  const rows: Record<string, string> = {}
  for (const subject of [{ tenant: 'warm' }, ACME]) {
    const of = async (step: string, run: () => Promise<unknown>) => {
      const { total, writes } = await own.meter.measure(run)
      rows[step] = `${total} / ${writes}`
    }
    const open: Reservation<typeof UNIT>[] = []
    const hold = async () => {
      const call = await reserve(limiter, subject, costOf(30))
      if (call.allowed) open.push(call)
    }
    const pay = (id: string) =>
      grant(limiter, subject, { amount: 10_000, id, at: Date.now(), kind: 'paid' })
    await of('denied', () => limiter.check(subject, costOf(20_000)))
    await of('grant', () => pay('p1'))
    await of('the same grant again', () => pay('p1'))
    await of('check', () => limiter.check(subject, costOf(10)))
    await of('reserve', hold)
    await of('settle below the reservation', () => settled(open, 10))
    await hold()
    await of('settle at the reservation', () => settled(open, 30))
    await hold()
    await of('settle above the reservation', () => settled(open, 40))
    const { id } = JSON.parse(JSON.stringify(await reserve(limiter, subject, costOf(30)))) as {
      id: string
    }
    await of('`settleHold`', () => settleHold(limiter, subject, id, 0))
    await of('`adjust`', () =>
      adjust(limiter, subject, { amount: 5, id: 'a', at: Date.now(), reason: 'test' }),
    )
    await of('`revoke`', () => revoke(limiter, subject, 'p1'))
    await of('`balance`', () => balance(limiter, subject))
  }
  return rows
}

const settled = (open: Reservation<typeof UNIT>[], actual: number) =>
  open.pop()?.settle({ [UNIT]: actual }) ?? Promise.reject(new Error('denied'))

describe('the commands of a balance', () => {
  const stated = Object.fromEntries(
    Array.from(tableOf(page, 'step with a balance'), ([step, { commands, writes }]) => [
      step,
      `${commands} / ${writes}`,
    ]),
  )

  it.each([
    ['that is prepaid', false],
    ['with an allowance', true],
  ])('%s are those on the page', async (_, included) => {
    expect(await measured(included)).toEqual(stated)
  })
})

describe('a balance whose reservations are given back by themselves', () => {
  it('is denied without a look at its journal once all of them are settled', async () => {
    const clock = manualClock(NOON)
    const policy = credits({ name: 'credits', per: ['tenant'], unit: UNIT, unsettled: 'release' })
    const limiter = createLimiter({
      store: own.store(freshPrefix()),
      onStoreError: 'deny',
      policies: [policy],
      clock,
    })
    await grant(limiter, ACME, { amount: 30, id: 'p1', at: clock(), kind: 'paid' })
    const call = await reserve(limiter, ACME, costOf(30))
    const deny = () => own.meter.measure(() => limiter.check(ACME, costOf(10)))
    await deny()
    const before = await deny()
    if (call.allowed) await call.settle({ [UNIT]: 30 })
    clock.advance(2 * HOUR)
    expect((await deny()).total).toBe(before.total)
  })
})

describe('the bytes of a balance', () => {
  const rows: Record<string, number> = {}

  beforeAll(async () => {
    const clock = manualClock(NOON)
    const prefix = freshPrefix()
    const limiter = limiterOf(prefix, clock)
    const bytes = async (): Promise<number> => {
      const key = `${prefix}:credits:credits-:tenant=acme`
      return Number(await own.redis.call('MEMORY', 'USAGE', key, 'SAMPLES', '0'))
    }
    const pay = (id: number, lot: number) =>
      grant(limiter, ACME, {
        amount: 10_000_000,
        id: `payment_${String(id).padStart(16, '0')}`,
        at: clock(),
        kind: 'paid',
        expiresAt: NOON + (30 + lot) * DAY,
        reason: 'Top-up of $10',
      })
    await pay(0, 0)
    rows['one lot, one entry of the journal'] = await bytes()
    for (let lot = 1; lot < 64; lot += 1) await pay(lot, lot)
    const lots = await bytes()
    rows['64 lots, 64 entries'] = lots
    for (let call = 0; call < 64; call += 1) await reserve(limiter, ACME, costOf(120_000))
    const held = await bytes()
    rows['an open reservation'] = Math.round((held - lots) / 64)
    for (let id = 64; id < 1_064; id += 1) await pay(id, id % 64)
    rows['a grant in the journal'] = Math.round(((await bytes()) - held) / 1_000)
    const granted = await bytes()
    for (let hour = 0; hour < 400; hour += 1) {
      clock.advance(HOUR)
      await limiter.check(ACME, costOf(120_000))
    }
    rows['an hour of spending in the journal'] = Math.round(((await bytes()) - granted) / 400)
    for (let id = 1_064; id < 1_700; id += 1) await pay(id, 63)
    rows['the most: 64 lots, 2,000 entries'] = (await bytes()) - held + lots
    const all = Number(
      await own.redis.call(
        'MEMORY',
        'USAGE',
        `${prefix}:grants:credits:credits-:tenant=acme`,
        'SAMPLES',
        '0',
      ),
    )
    rows['the id of a grant, for 90 days'] = Math.round(all / 1_700)
  })

  it('are those on the page, to a tenth', () => {
    const stated = tableOf(page, 'part of a balance')
    expect([...stated.keys()]).toEqual(Object.keys(rows))
    for (const [part, row] of stated) {
      const bytes = Number(row['bytes']?.replaceAll(',', ''))
      expect(Math.abs((rows[part] ?? 0) / bytes - 1), `${part}: ${rows[part]}`).toBeLessThan(0.1)
    }
  })
})
