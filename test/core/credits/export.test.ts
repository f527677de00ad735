import { InputError, manualClock } from '@sluice/core'
import {
  auditCredits,
  balance,
  deleteCredits,
  exportCredits,
  grant,
  importCredits,
  journal,
  settleHold,
} from '@sluice/core/credits'
import { memory } from '@sluice/core/memory'
import { reserve } from '@sluice/core/reservations'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { freshPrefix, STORES, type StoreMaker } from '../../support/stores.ts'
import { sharedRedis } from '../../support/running-redis.ts'
import { DAY, NOON } from '../../support/times.ts'
import { ACME, creditsIn, journalOf } from './past.ts'

const redis = sharedRedis()

const codeOf = (call: Promise<unknown>): Promise<string> =>
  call.then(
    () => 'done',
    (error: unknown) => (error instanceof InputError ? error.code : String(error)),
  )

describe('a Redis that was lost', () => {
  it('has its balances again after an import, but for the span since the export', async () => {
    const prefix = freshPrefix()
    const past = creditsIn(redis.store(prefix))
    const { limiter, clock } = past
    await journalOf(past, 30)
    const open = await reserve(limiter, ACME, { cost: { credit: 7 } })
    expect(open.allowed).toBe(true)
    const before = await balance(limiter, ACME)
    const text = await exportCredits(limiter, ACME)

    // The span: one grant, and spending.
    const late = { amount: 500, id: 'late', at: clock(), kind: 'paid' } as const
    await grant(limiter, ACME, late)
    await limiter.check(ACME, { cost: { credit: 123 } })
    const atLoss = await balance(limiter, ACME)

    const keys = await redis.redis.keys(`${prefix}*`)
    await redis.redis.del(keys)
    // By a process that has never seen the balance.
    const { limiter: restored } = creditsIn(redis.store(prefix), clock)
    expect((await balance(restored, ACME)).totals.granted).toBe(40)
    expect(await importCredits(restored, ACME, text)).toEqual({ exportedAt: clock() })
    const after = await balance(restored, ACME)
    expect(after).toEqual(before)
    expect(await exportCredits(restored, ACME)).toBe(text)

    // The grant is repeated by its id.
    expect((await grant(restored, ACME, late)).applied).toBe(true)
    const repeated = await balance(restored, ACME)
    const stated = atLoss.totals.settled - repeated.totals.settled
    expect(stated).toBe(123)
    expect(repeated.balance - atLoss.balance).toBe(stated)
    const entries = await journal(restored, ACME)
    expect(auditCredits(entries, { account: await exportCredits(restored, ACME) })).toEqual([])
  })

  it('knows the ids of the grants that it had', async () => {
    const { limiter, clock } = creditsIn(memory())
    const paid = { amount: 50, id: 'payment-1', at: clock(), kind: 'paid' } as const
    await grant(limiter, ACME, paid)
    const text = await exportCredits(limiter, ACME)
    const { limiter: other } = creditsIn(redis.store(), clock)
    await importCredits(other, ACME, text)
    expect((await grant(other, ACME, paid)).applied).toBe(false)
    expect(await codeOf(grant(other, ACME, { ...paid, amount: 51 }))).toBe('grant_differs')
    expect(await exportCredits(other, ACME)).toBe(text)
  })

  it('is restored, and may be deleted, where an id was used again after its 90 days', async () => {
    const prefix = freshPrefix()
    const { limiter, clock } = creditsIn(redis.store(prefix))
    const bonus = (amount: number) =>
      grant(limiter, ACME, { amount, id: 'bonus', at: clock(), kind: 'promotional' })
    await bonus(50)
    clock.advance(120 * DAY)
    // As their TTL does.
    await redis.redis.del(await redis.redis.keys(`${prefix}:grants:*`))
    expect((await bonus(70)).applied).toBe(true)
    const text = await exportCredits(limiter, ACME)
    const { limiter: other } = creditsIn(memory(), clock)
    expect(await codeOf(importCredits(other, ACME, text))).toBe('done')
    expect(await exportCredits(other, ACME)).toBe(text)
    expect(await codeOf(bonus(70))).toBe('done')
    expect(await codeOf(deleteCredits(limiter, ACME, { confirm: text }))).toBe('done')
    // The id that is known is that of the second.
    const edited = text.replace(' granted 70 -1', ' granted 50 -1')
    expect(edited).not.toBe(text)
    const { limiter: last } = creditsIn(memory(), clock)
    expect(await codeOf(importCredits(last, ACME, edited))).toBe('invalid_export')
  })

  it('is not restored from a text without an id or an entry, by which a payment would count again', async () => {
    const { limiter, clock } = creditsIn(memory())
    for (const id of ['one', 'two']) {
      await grant(limiter, ACME, { amount: 50, id, at: clock(), kind: 'paid' })
    }
    const text = await exportCredits(limiter, ACME)
    const edits = [
      (content: ExportText) => delete content.ids.one,
      (content: ExportText) => (content.ids.one = content.ids.one!.replace(' 50 ', ' 90 ')),
      (content: ExportText) => delete content.account['entry:1'],
    ]
    for (const edit of edits) {
      const content = JSON.parse(text) as ExportText
      edit(content)
      const { limiter: other } = creditsIn(memory(), clock)
      expect(await codeOf(importCredits(other, ACME, JSON.stringify(content)))).toBe(
        'invalid_export',
      )
    }
  })
})

interface ExportText {
  readonly account: Record<string, string>
  readonly ids: Record<string, string>
}

/** Its stores run the steps in other ways: states in memory, Lua, a log on disk, an object for each key. */
const KINDS = [
  'memory',
  'redis, built-in transport',
  'file',
  'durable objects, in this process',
] as const

describe.each(KINDS)('in %s', (kind) => {
  let maker: StoreMaker
  beforeAll(async () => {
    maker = await STORES[kind]()
  })
  afterAll(() => maker.close())

  it('an import refuses a balance that is there, and leaves it as it is', async () => {
    const { limiter, clock } = creditsIn(maker.make())
    await grant(limiter, ACME, { amount: 50, id: 'one', at: clock(), kind: 'paid' })
    const text = await exportCredits(limiter, ACME)
    await grant(limiter, ACME, { amount: 5, id: 'two', at: clock(), kind: 'paid' })
    const before = await exportCredits(limiter, ACME)
    expect(await codeOf(importCredits(limiter, ACME, text))).toBe('balance_exists')
    expect(await exportCredits(limiter, ACME)).toBe(before)
  })

  it('an export of another store is a balance with its journal and its reservations', async () => {
    const past = creditsIn(memory())
    await journalOf(past, 30)
    const more = { amount: 500, id: 'more', at: past.clock(), kind: 'paid' } as const
    await grant(past.limiter, ACME, more)
    for (const credit of [7, 2]) {
      expect((await reserve(past.limiter, ACME, { cost: { credit } })).allowed).toBe(true)
    }
    const text = await exportCredits(past.limiter, ACME)
    const { limiter, clock } = creditsIn(maker.make(), past.clock)
    await importCredits(limiter, ACME, text)
    expect(await balance(limiter, ACME)).toEqual(await balance(past.limiter, ACME))
    expect(await exportCredits(limiter, ACME)).toBe(text)
    const paid = { amount: 5, id: 'after', at: clock(), kind: 'paid' } as const
    for (const one of [limiter, past.limiter]) await grant(one, ACME, paid)
    expect(await journal(limiter, ACME)).toEqual(await journal(past.limiter, ACME))
  })

  it('a balance is deleted as it was exported, without open reservations, and with its ids', async () => {
    const { limiter, clock } = creditsIn(maker.make())
    expect(await codeOf(exportCredits(limiter, ACME))).toBe('balance_unknown')
    const paid = { amount: 50, id: 'one', at: clock(), kind: 'paid' } as const
    await grant(limiter, ACME, paid)
    const old = await exportCredits(limiter, ACME)
    const call = await reserve(limiter, ACME, { cost: { credit: 7 } })
    expect(await codeOf(deleteCredits(limiter, ACME, { confirm: old }))).toBe('balance_changed')
    const held = await exportCredits(limiter, ACME)
    expect(await codeOf(deleteCredits(limiter, ACME, { confirm: held }))).toBe('balance_held')
    const { reservations } = await balance(limiter, ACME)
    expect(call.allowed).toBe(true)
    await settleHold(limiter, ACME, reservations[0]?.id ?? '', 4)
    const confirm = await exportCredits(limiter, ACME)
    expect(await codeOf(deleteCredits(limiter, ACME, { confirm }))).toBe('done')
    expect(await codeOf(exportCredits(limiter, ACME))).toBe('balance_unknown')
    expect((await balance(limiter, ACME)).totals.granted).toBe(40)
    expect(await codeOf(deleteCredits(limiter, ACME, { confirm }))).toBe('balance_changed')
    expect((await grant(limiter, ACME, paid)).applied).toBe(true)
  })
})

describe('an import', () => {
  /** The ways to change an export. */
  const CHANGES: Readonly<Record<string, (text: string) => string>> = {
    'no text': () => '',
    'no JSON': (text) => text.slice(0, -2),
    'another format': (text) => text.replace('sluice-credits-1', 'sluice-credits-0'),
    'no account': (text) => text.replace('"account"', '"accounts"'),
    'the export of another tenant': (text) => text.replace('tenant=acme', 'tenant=other'),
    'another unit': (text) => text.replace('"unit": "credit"', '"unit": "usd"'),
    'a field of another kind': (text) => text.replace('"account": {', '"account": { "lots": "1",'),
    'a larger lot': (text) => text.replace('paid=50', 'paid=60'),
    'a number with a zero before it': (text) => text.replace('0:paid=', '0:paid=0'),
    'a lot that is none': (text) => text.replace('100:0:0:paid=', '100:0:paid='),
    'another amount in the journal': (text) => text.replace('granted 50 ', 'granted 60 '),
    'an entry less': (text) => text.replace(/ *"entry:2".*\n/, ''),
    'a reservation less': (text) => text.replace(/ *"hold:1".*\n/, ''),
    'an id without its amount': (text) => text.replace('granted 50 -1', 'granted -1'),
  }

  it.each(Object.entries(CHANGES))('refuses %s, and writes nothing', async (_, change) => {
    const clock = manualClock(NOON)
    const { limiter } = creditsIn(memory(), clock)
    await grant(limiter, ACME, { amount: 50, id: 'one', at: clock(), kind: 'paid' })
    await reserve(limiter, ACME, { cost: { credit: 7 } })
    const text = await exportCredits(limiter, ACME)
    const { limiter: other } = creditsIn(memory(), clock)
    expect(change(text)).not.toBe(text)
    expect(await codeOf(importCredits(other, ACME, change(text)))).toBe('invalid_export')
    expect(await codeOf(exportCredits(other, ACME))).toBe('balance_unknown')
    expect(await codeOf(importCredits(other, ACME, text))).toBe('done')
  })
})
