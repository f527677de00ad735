import { readFileSync } from 'node:fs'
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
import { invalidatePlan, planResolver } from '@sluice/core/plans'
import { release, reserve } from '@sluice/core/reservations'
import { upstash } from '@sluice/core/upstash'
import { startLocal, startRedisServer } from '@sluice/local'
import { flushUsage, recordUsage } from '@sluice/usage'
import { usage } from '@sluice/usage/report'
import { describe, expect, it } from 'vitest'
import { tableOf } from '../support/markdown.ts'
import { commandCalls, connect } from '../support/redis.ts'

const read = (name: string): string =>
  readFileSync(new URL(`../../docs/${name}.md`, import.meta.url), 'utf8')
const page = read('production')

describe('the prices of the page on production', () => {
  it('are those of the commands that are published', () => {
    const commands = tableOf(read('performance'), 'outcome')
    const prices = tableOf(page, 'outcome')
    expect(prices.size).toBeGreaterThan(5)
    for (const [outcome, row] of prices) {
      // $0.20 per 100,000 commands.
      const dollars = Number(commands.get(outcome)?.['commands']) * 2
      expect([outcome, row['dollars per million']]).toEqual([outcome, dollars.toFixed(2)])
    }
  })
})

describe('the user of the page on production', () => {
  it('may run every feature, and needs each of its commands', async () => {
    await using server = await startRedisServer()
    const admin = connect(server.url)
    const [, rules = ''] = /^ACL SETUSER sluice (.*)$/m.exec(page) ?? []
    await admin.call(
      'ACL',
      'SETUSER',
      'sluice',
      ...rules.replace('>TOKEN', '>a-password').split(' '),
    )
    const url = new URL(server.url)
    url.username = 'sluice'
    url.password = 'a-password'
    const local = await startLocal({ redisUrl: url.href })
    await admin.call('CONFIG', 'RESETSTAT')
    await useEveryFeature(upstash({ url: local.url, token: local.token, timeoutMs: 30_000 }))
    const calls = await commandCalls(admin)
    const log = (await admin.call('ACL', 'LOG')) as unknown[][]
    await local.close()
    admin.disconnect()
    const refused = log.map((entry) => entry[entry.indexOf('object') + 1])
    // The client of `startLocal` looks for readiness by INFO, and does without it.
    expect(refused.filter((command) => command !== 'info')).toEqual([])
    const granted = Array.from(rules.matchAll(/\+(\w+)/g), ([, command = '']) => command)
    expect(granted.filter((command) => !calls.has(command))).toEqual([])
  })
})

/** Runs what sends commands to Redis: each algorithm, reservations, plans, configuration and resets. */
async function useEveryFeature(store: Store): Promise<void> {
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
