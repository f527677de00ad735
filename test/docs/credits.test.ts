import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { usd } from '@sluice/ai'
import { ConfigError, createLimiter, type Limiter, type Store, type Subject } from '@sluice/core'
import {
  balance,
  credits,
  deleteCredits,
  grant,
  journal,
  revoke,
  settleHold,
  type Balance,
} from '@sluice/core/credits'
import { file } from '@sluice/core/file'
import { memory } from '@sluice/core/memory'
import { release, reserve, sweepUnsettled } from '@sluice/core/reservations'
import { upstash } from '@sluice/core/upstash'
import { beforeEach, expect, it, onTestFinished, vi } from 'vitest'
import { importBlock, patient, readBlock } from '../support/docs-block.ts'
import { pageFolder } from '../support/page-folder.ts'
import { freshPrefix } from '../support/stores.ts'
import { DAY, HOUR } from '../support/times.ts'

const PAGE = 'credits.md'
const ACME = { tenant: 'acme' }
const dollars = (amount: number) => ({ cost: { usd: usd(amount) } })

let folder: string
beforeEach(async () => {
  folder = await pageFolder('credits')
})

/** Imports a file of the page that makes a limiter, with keys of its own. */
async function limiterOf(name: string): Promise<Limiter> {
  writeFileSync(join(folder, name), patient(readBlock(PAGE, name), freshPrefix()))
  const { limiter } = (await import(join(folder, name))) as { limiter: Limiter }
  return limiter
}

const blockOf = <Exports>(name: string): Promise<Exports> => importBlock(folder, PAGE, name)

interface Change {
  readonly available: number
}

interface Changes {
  readonly onPaid: (payment: object) => Promise<number>
  readonly balanceOf: (subject: Subject) => Promise<Balance>
  readonly onChargeback: (subject: Subject, id: string) => Promise<Change>
  readonly apologise: (subject: Subject, id: string) => Promise<Change>
}

interface Copies {
  readonly backUp: (subject: Subject) => Promise<string>
  readonly restore: (subject: Subject, text: string) => Promise<object>
}

it('the files of the page grant once, spend, and take back', async () => {
  const limiter = await limiterOf('limits.ts')
  const { onPaid } = await blockOf<Changes>('paid.ts')
  const { balanceOf } = await blockOf<Changes>('balance.ts')
  const { onChargeback, apologise } = await blockOf<Changes>('correct.ts')

  expect(await limiter.check(ACME, dollars(0.01))).toMatchObject({
    allowed: false,
    reason: 'credits_exhausted',
    retryAfterMs: null,
  })
  const payment = { id: 'pay_1', subject: ACME, dollars: 10, paidAt: new Date() }
  const repeated = await Promise.all(Array.from({ length: 5 }, () => onPaid(payment)))
  expect(repeated).toEqual(Array.from({ length: 5 }, () => usd(10)))

  const call = await reserve(limiter, ACME, dollars(4))
  expect(await balanceOf(ACME)).toMatchObject({ available: usd(6), held: usd(4), debt: 0 })
  if (call.allowed) await call.settle({ usd: usd(3) })
  expect(await balanceOf(ACME)).toMatchObject({
    available: usd(7),
    held: 0,
    lots: [{ kind: 'paid', left: usd(7) }],
    abandoned: 0,
  })
  expect(await onChargeback(ACME, 'pay_1')).toMatchObject({ units: usd(10), debt: usd(3) })
  expect(await onChargeback(ACME, 'pay_1')).toMatchObject({ applied: false, debt: usd(3) })
  expect(await apologise(ACME, 'case-1')).toMatchObject({ debt: usd(1), available: 0 })
  const { backUp, restore } = await blockOf<Copies>('backup.ts')
  const kinds = (await journal(limiter, ACME)).map(({ kind }) => kind)
  expect(kinds).toEqual(['granted', 'spent', 'revoked', 'adjusted'])
  const text = await backUp(ACME)
  await expect(restore(ACME, text)).rejects.toMatchObject({ code: 'balance_exists' })
  await deleteCredits(limiter, ACME, { confirm: text })
  expect((await balanceOf(ACME)).debt).toBe(0)
  await restore(ACME, text)
  expect(await onPaid(payment)).toBe(0)
  await limiter.reset(ACME)
  expect((await balanceOf(ACME)).debt).toBe(usd(1))
  await expect(limiter.reset(ACME, { policies: ['credits'] })).rejects.toThrow(ConfigError)
})

it('a plan includes its allowance, and a larger one adds the difference at once', async () => {
  const limiter = await limiterOf('plans.ts')
  const of = async (plan: string) => {
    const { available, renewsAt } = await balance(limiter, { ...ACME, plan, anchor: '2026-01-15' })
    return [available, new Date(renewsAt ?? 0).getUTCDate()]
  }
  expect(await of('pro')).toEqual([usd(20), 15])
  await limiter.check({ ...ACME, plan: 'pro', anchor: '2026-01-15' }, dollars(5))
  expect(await of('pro')).toEqual([usd(15), 15])
  expect(await of('team')).toEqual([usd(55), 15])
  await limiter.check({ ...ACME, plan: 'team', anchor: '2026-01-15' }, dollars(5))
  expect(await of('free')).toEqual([usd(50), 15])
})

/** A balance in memory, by a clock of the test. */
function prepaid(unsettled: 'keep' | 'release', store: Store = memory()) {
  let now = Date.UTC(2026, 10, 29, 12)
  const limiter = createLimiter({
    store,
    clock: () => now,
    onStoreError: 'deny',
    policies: [credits({ name: 'credits', per: ['tenant'], unsettled })],
  })
  const pay = (id: string, amount: number, more: object = {}) =>
    grant(limiter, ACME, { amount: usd(amount), id, at: now, kind: 'paid', ...more })
  return { limiter, pay, now: () => now, advance: (ms: number) => (now += ms) }
}

it('lots are spent by priority, then the soonest expiry, then promotional before paid', async () => {
  const { limiter, pay, now } = prepaid('keep')
  const expiresAt = now() + DAY
  await pay('late', 1)
  await pay('gift', 1, { kind: 'promotional' })
  await pay('soon', 1, { expiresAt })
  await pay('first', 1, { priority: 1 })
  const { lots } = await balance(limiter, ACME)
  expect(lots.map(({ priority, expiresAt: end, kind }) => [priority, end, kind])).toEqual([
    [1, undefined, 'paid'],
    [100, expiresAt, 'paid'],
    [100, undefined, 'promotional'],
    [100, undefined, 'paid'],
  ])
})

it('a reservation that nobody settles stays charged until it is settled by its id', async () => {
  const { limiter, pay, advance } = prepaid('keep')
  await pay('p', 10)
  await reserve(limiter, ACME, dollars(4))
  advance(2 * HOUR)
  const { available, held, abandoned, reservations } = await balance(limiter, ACME)
  expect([available, held, abandoned]).toEqual([usd(6), 0, usd(4)])
  expect(reservations[0]?.isAbandoned).toBe(true)
  expect(await settleHold(limiter, ACME, reservations[0]?.id ?? '', 0)).toMatchObject({
    applied: true,
    available: usd(10),
  })
})

it('a reservation that is released is charged by a settlement within a day', async () => {
  const { limiter, pay, advance } = prepaid('release')
  await pay('p', 10)
  const call = await reserve(limiter, ACME, dollars(4))
  advance(2 * HOUR)
  expect((await balance(limiter, ACME)).available).toBe(usd(10))
  if (call.allowed) await call.settle({ usd: usd(3) })
  expect((await balance(limiter, ACME)).available).toBe(usd(7))
})

it('a reservation with release() is given back by its sweep, even with keep', async () => {
  const { limiter, pay, advance } = prepaid('keep')
  await pay('p', 10)
  await reserve(limiter, ACME, { ...dollars(4), unsettled: release() })
  advance(2 * HOUR)
  expect(await balance(limiter, ACME)).toMatchObject({ available: usd(6), abandoned: usd(4) })
  expect(await sweepUnsettled(limiter, ACME)).toBe(1)
  expect(await balance(limiter, ACME)).toMatchObject({ available: usd(10), abandoned: 0 })
})

it('a refund without a debt leaves what open reservations hold; held of a change includes abandoned ones', async () => {
  const { limiter, pay, advance } = prepaid('keep')
  await pay('p', 10)
  const call = await reserve(limiter, ACME, dollars(4))
  await reserve(limiter, ACME, dollars(1))
  expect(await revoke(limiter, ACME, 'p')).toMatchObject({ units: usd(5), held: usd(5) })
  if (call.allowed) await call.cancel()
  advance(2 * HOUR)
  expect(await balance(limiter, ACME)).toMatchObject({ available: usd(4), abandoned: usd(1) })
  expect(await pay('q', 1)).toMatchObject({ held: usd(1) })
  expect(await revoke(limiter, ACME, 'p', { debt: true })).toMatchObject({ units: usd(5) })
  expect(await balance(limiter, ACME)).toMatchObject({ available: 0, balance: usd(0) })
  await expect(pay('r', 0.0009)).rejects.toMatchObject({ code: 'invalid_grant' })
  expect(await pay('s', 0.001)).toMatchObject({ applied: true })
})

it('a denial for want of units that this process holds asks nobody to buy credits', async () => {
  const { limiter, pay } = prepaid('keep')
  await pay('p', 10)
  await reserve(limiter, ACME, dollars(9))
  const held = { reason: 'concurrency_exceeded', retryAfterMs: 1_000 }
  expect(await reserve(limiter, ACME, dollars(5))).toMatchObject(held)
  const spent = { reason: 'credits_exhausted', retryAfterMs: null }
  expect(await reserve(limiter, ACME, dollars(11))).toMatchObject(spent)
})

it('of 64 calls at once on the last cent, none overdraws; a settlement may, and is paid first', async () => {
  const { limiter, pay } = prepaid('keep')
  await pay('p', 0.01)
  const calls = await Promise.all(
    Array.from({ length: 64 }, () => reserve(limiter, ACME, dollars(0.004))),
  )
  const allowed = calls.filter((call) => call.allowed)
  expect(allowed).toHaveLength(2)
  for (const call of allowed) await call.settle({ usd: usd(0.01) })
  expect(await balance(limiter, ACME)).toMatchObject({ debt: usd(0.01), available: 0 })
  expect(await pay('q', 0.03)).toMatchObject({ debt: 0, available: usd(0.02) })
})

const isDown = () => Promise.reject(new TypeError('fetch failed'))

it('without the store, a call is denied as 503 answers it', async () => {
  vi.spyOn(console, 'error').mockImplementation(() => undefined)
  onTestFinished(() => void vi.restoreAllMocks())
  const { limiter, pay } = prepaid('keep', upstash({ fetch: isDown }))
  expect(await limiter.check(ACME, dollars(1))).toMatchObject({ reason: 'store_unavailable' })
  await expect(pay('p', 1)).rejects.toMatchObject({ code: 'store_unreachable' })
})

it('a policy that is renamed keeps its balances', async () => {
  const store = file(join(folder, 'counts'))
  const make = (name: string) =>
    createLimiter({
      store,
      onStoreError: 'deny',
      policies: [credits({ name, per: ['tenant'], unsettled: 'keep' })],
    })
  await grant(make('old'), ACME, { amount: usd(5), id: 'p', at: new Date(), kind: 'paid' })
  expect((await balance(make('new'), ACME)).available).toBe(usd(5))
})

it('the page is short enough to be read, and shows first what a limiter of credits needs', () => {
  const text = readFileSync(new URL('../../docs/credits.md', import.meta.url), 'utf8')
  expect(text.split(/\s+/).length).toBeLessThan(1_650)
  expect(readBlock(PAGE, 'limits.ts')).toContain("onStoreError: 'deny'")
})
