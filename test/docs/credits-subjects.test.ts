import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { usd } from '@sluice/ai'
import { createLimiter, type Limiter, type Subject } from '@sluice/core'
import { balance, credits, grant, type Balance } from '@sluice/core/credits'
import { memory } from '@sluice/core/memory'
import { reserve } from '@sluice/core/reservations'
import { beforeEach, expect, it, vi } from 'vitest'
import { importBlock, patient, readBlock } from '../support/docs-block.ts'
import { pageFolder } from '../support/page-folder.ts'
import { freshPrefix } from '../support/stores.ts'
import { HOUR } from '../support/times.ts'

const PAGE = 'credits.md'
const ACME = { tenant: 'acme' }
const dollars = (amount: number) => ({ cost: { usd: usd(amount) } })

interface Change {
  readonly available: number
}

interface Changes {
  readonly onPaid: (payment: object) => Promise<number>
  readonly balanceOf: (subject: Subject) => Promise<Balance>
  readonly onChargeback: (subject: Subject, id: string) => Promise<Change>
  readonly apologise: (subject: Subject, id: string) => Promise<Change>
}

let folder: string
beforeEach(async () => {
  folder = await pageFolder('credits-subjects')
})

const blockOf = <Exports>(name: string): Promise<Exports> => importBlock(folder, PAGE, name)

it('with an allowance, the functions of the page tell the whole balance of their subject', async () => {
  const code = patient(readBlock(PAGE, 'plans.ts'), freshPrefix())
  writeFileSync(join(folder, 'limits.ts'), code)
  const { limiter } = (await import(join(folder, 'limits.ts'))) as { limiter: Limiter }
  const { onPaid } = await blockOf<Changes>('paid.ts')
  const { balanceOf } = await blockOf<Changes>('balance.ts')
  const { onChargeback, apologise } = await blockOf<Changes>('correct.ts')
  const { backUp } = await blockOf<{ backUp: (of: Subject) => Promise<string> }>('backup.ts')

  const subject = { ...ACME, plan: 'pro', anchor: '2026-01-15' }
  expect((await balanceOf(subject)).available).toBe(usd(20))
  await limiter.check(subject, dollars(5))
  const payment = { id: 'pay_1', subject, dollars: 10, paidAt: new Date() }
  expect(await onPaid(payment)).toBe(usd(25))
  expect((await apologise(subject, 'case-1')).available).toBe(usd(27))
  expect((await onChargeback(subject, 'pay_1')).available).toBe(usd(17))
  const { available, renewsAt } = await balanceOf(subject)
  expect([available, new Date(renewsAt ?? 0).getUTCDate()]).toEqual([usd(17), 15])
  expect(await backUp(subject)).toContain('acme')
})

it('abandoned calls are settled by their ids, and open ones are left', async () => {
  let now = Date.UTC(2026, 10, 29, 12)
  const limiter = createLimiter({
    store: memory(),
    clock: () => now,
    onStoreError: 'deny',
    policies: [credits({ name: 'credits', per: ['tenant'], unsettled: 'keep' })],
  })
  vi.stubGlobal('limiter', limiter)
  writeFileSync(join(folder, 'limits.ts'), 'export const { limiter } = globalThis')
  const { settleAbandoned } = await blockOf<{
    settleAbandoned: (subject: Subject, usedOf: (id: string) => number) => Promise<void>
  }>('abandoned.ts')
  await grant(limiter, ACME, { amount: usd(10), id: 'p', at: now, kind: 'paid' })
  await reserve(limiter, ACME, dollars(4))
  await reserve(limiter, ACME, dollars(3))
  now += 2 * HOUR
  await reserve(limiter, ACME, dollars(1))
  const [first] = (await balance(limiter, ACME)).reservations
  await settleAbandoned(ACME, (id) => (id === first?.id ? usd(0.5) : 0))
  expect(await balance(limiter, ACME)).toMatchObject({
    available: usd(8.5),
    held: usd(1),
    abandoned: 0,
  })
})
