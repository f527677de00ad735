/* All that sends scripts and commands to Redis. */
import {
  concurrency,
  createLimiter,
  dailyCap,
  definePlans,
  leakyBucket,
  projectLimits,
  sessionWindow,
  slidingWindow,
  slidingWindowCounter,
  tokenBucket,
  type Store,
} from '@sluice/core'
import {
  configure,
  partitionRecords,
  readConfiguration,
  removeConfiguration,
  runtimeConfiguration,
} from '@sluice/core/configuration'
import {
  adjust,
  balance,
  credits,
  deleteCredits,
  exportCredits,
  grant,
  importCredits,
  journal,
  revoke,
  settleHold,
} from '@sluice/core/credits'
import { invalidatePlan, planResolver } from '@sluice/core/plans'
import { release, reserve } from '@sluice/core/reservations'
import { flushUsage, recordUsage } from '@sluice/usage'
import { usage } from '@sluice/usage/report'
import { expect } from 'vitest'

/** Runs what sends commands to Redis: each algorithm, reservations, plans, configuration and resets. */
export async function useEveryFeature(store: Store): Promise<void> {
  const per = ['tenant']
  const subject = { tenant: 'acme', project: 'p', run: 'r' }
  const limiter = createLimiter({
    store,
    plans: definePlans({ starter: { rpm: 1_000 } }),
    policies: [
      // So short that a check finds expired entries, in one of them on a busy machine, too.
      ...(['1ms', '10ms', '100ms'] as const).map((window) =>
        slidingWindow({ name: `short-${window}`, limit: 1_000, window, per }),
      ),
      slidingWindow({ name: 'rpm', limit: ({ plan }) => plan.rpm, window: '1m', per }),
      slidingWindow({ name: 'tpm', limit: 100, window: '1m', per, unit: 'token' }),
      slidingWindowCounter({ name: 'counter', limit: 1_000, window: '1m', per }),
      tokenBucket({ name: 'bucket', limit: 1_000, window: '1m', per }),
      leakyBucket({ name: 'leaky', limit: 1_000, window: '1m', burst: 1_000, wait: false, per }),
      dailyCap({ name: 'daily', limit: 1_000, per }),
      sessionWindow({ name: 'run', limit: 1_000, idle: '1m', per: ['run'] }),
      concurrency({ name: 'in-flight', limit: 100, per }),
      projectLimits(),
    ],
    extensions: [
      planResolver(() => Promise.resolve('starter')),
      recordUsage(),
      runtimeConfiguration({ allow: { tpm: ['limit'] }, partitions: partitionRecords() }),
    ],
  })
  const cost = { token: 1 }
  const first = await Promise.all(
    Array.from({ length: 10 }, () => limiter.check(subject, { cost })),
  )
  expect(first.map(({ degraded }) => degraded)).toEqual(first.map(() => undefined))
  for (let sent = 0; sent < 20; sent += 1) await limiter.check(subject, { cost })
  const call = await reserve(limiter, subject, { cost: { token: 60 } })
  if (call.allowed) await call.settle({ token: 7 })
  const options = { cost: { token: 60 }, settleWithin: '1ms', unsettled: release() } as const
  await reserve(limiter, subject, options)
  // It does not fit before the one above is given back.
  expect((await reserve(limiter, subject, options)).allowed).toBe(true)
  await configure(limiter, { tpm: { limit: 90 } })
  await configure(limiter, { tpm: { limit: 80 } }, { tenant: 'acme' })
  await limiter.check(subject, { cost })
  await removeConfiguration(limiter, { tenant: 'acme' }, { policies: ['tpm'] })
  await configure(limiter, { tpm: { limit: 80 } }, { tenant: 'acme' })
  expect(await readConfiguration(limiter)).toHaveLength(1)
  expect((await usage(limiter)).rows).not.toEqual([])
  await useMoreCellsThanFit(store)
  await useCredits(store)
  await invalidatePlan(limiter, 'acme')
  await limiter.reset(subject)
}

/** Records a large tenant after small ones, which gives a cell of theirs to it. */
async function useMoreCellsThanFit(store: Store): Promise<void> {
  const limiter = createLimiter({
    store,
    policies: [slidingWindow({ name: 'all', limit: 1_000, window: '1m', per: 'global' })],
    extensions: [recordUsage({ maxCells: 4, tenants: 'plain' })],
  })
  const tenants = ['a', 'b', 'c', 'd', 'e', 'large', 'large']
  for (const tenant of [...tenants, ...tenants]) {
    await limiter.check({ tenant })
    await flushUsage(limiter)
  }
}

/** Takes each step that a balance has. */
async function useCredits(store: Store): Promise<void> {
  const limiter = createLimiter({
    store,
    onStoreError: 'deny',
    policies: [credits({ name: 'credits', per: ['tenant'], unsettled: 'keep', unit: 'credit' })],
  })
  const subject = { tenant: 'acme' }
  const at = new Date()
  const cost = { cost: { credit: 5 } }
  await grant(limiter, subject, { amount: 100, id: 'p1', at, kind: 'paid' })
  await adjust(limiter, subject, { amount: 5, id: 'a1', at, reason: 'test' })
  const call = await reserve(limiter, subject, cost)
  if (call.allowed) await call.settle({ credit: 3 })
  await reserve(limiter, subject, cost)
  const { reservations } = await balance(limiter, subject)
  for (const { id } of reservations) await settleHold(limiter, subject, id, 0)
  expect(await revoke(limiter, subject, 'p1')).toMatchObject({ applied: true, available: 2 })
  expect(await journal(limiter, subject)).toHaveLength(4)
  const text = await exportCredits(limiter, subject)
  await deleteCredits(limiter, subject, { confirm: text })
  await importCredits(limiter, subject, text)
}
