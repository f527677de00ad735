import { usd } from '@sluice/ai'
import {
  createLimiter,
  monthlyCap,
  slidingWindow,
  type Cost,
  type Limiter,
  type Policy,
  type PolicyState,
} from '@sluice/core'
import { configure, runtimeConfiguration } from '@sluice/core/configuration'
import { reservation, reserve } from '@sluice/core/reservations'
import { mkdtempSync, rmSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ACME, createOperator, type Operator } from '../../cli/operator.ts'
import { removeProjects } from '../../cli/project.ts'
import { importBlock } from '../../support/docs-block.ts'
import { sharedRedisOverHttp } from '../../support/running-redis.ts'
import { freshPrefix } from '../../support/stores.ts'
import { readPage, runsPage } from './run-page.ts'

const redis = sharedRedisOverHttp()
let operator: Operator
beforeAll(() => {
  operator = createOperator(redis.local)
})
afterAll(removeProjects)

const release = ['set', 'rpm', 'limit=30', '--by', 'ann', '--note', 'release 12', '--yes']
runsPage(
  readPage('upgrade'),
  {
    'Roll back': () => operator.app.sluice(release),
    Verify: () => operator.running.check(ACME, { cost: { request: 3, usd: 1_250_000 } }),
  },
  () => operator,
)

const per = ['tenant'] as const
const rpm = (name: string) => slidingWindow({ name, limit: 20, window: '1m', per })
const tpm = (name: string) => slidingWindow({ name, limit: 100, window: '1h', per, unit: 'token' })

const budget = (unit: string, limit: number) => monthlyCap({ name: 'budget', limit, unit, per })

/** A version of the app with one policy, whose limit may be configured. */
const version = (prefix: string, policy: Policy): Limiter =>
  createLimiter({
    store: redis.store(prefix),
    policies: [policy],
    extensions: [runtimeConfiguration({ allow: { [policy()[0]?.name ?? '']: ['limit'] } })],
  })

/** The charge that a version of the app finds, and its limit. */
async function look(limiter: Limiter, cost: Cost = {}): Promise<{ used: number; limit: number }> {
  const [state] = (await limiter.peek({ tenant: 'acme' }, { cost })).policies
  const { limit, remaining } = state as PolicyState
  return { used: limit - remaining, limit }
}

describe('what the page says of a changed policy', () => {
  it('starts everything afresh under another prefix, also settings', async () => {
    const old = version(freshPrefix(), rpm('rpm'))
    await configure(old, { rpm: { limit: 7 } })
    await old.check({ tenant: 'acme' }, { cost: 3 })
    expect(await look(old)).toEqual({ used: 3, limit: 7 })
    expect(await look(version(freshPrefix(), rpm('rpm')))).toEqual({ used: 0, limit: 20 })
  })

  it('leaves the settings of a renamed policy in place for a rollback', async () => {
    const prefix = freshPrefix()
    await configure(version(prefix, rpm('rpm')), { rpm: { limit: 7 } })
    const now = version(prefix, rpm('per-minute'))
    expect(await look(now)).toEqual({ used: 0, limit: 20 })
    await configure(now, { 'per-minute': { limit: 9 } })
    expect(await look(version(prefix, rpm('rpm')))).toEqual({ used: 0, limit: 7 })
  })

  it('counts nothing while a limit is unlimited, and keeps what was counted', async () => {
    const prefix = freshPrefix()
    const old = version(prefix, rpm('rpm'))
    await old.check({ tenant: 'acme' }, { cost: 3 })
    const open = slidingWindow({ name: 'rpm', limit: 'unlimited', window: '1m', per })
    await version(prefix, open).check({ tenant: 'acme' }, { cost: 5 })
    expect(await look(old)).toMatchObject({ used: 3 })
  })

  it('takes micro-dollars for requests, and denies', async () => {
    const prefix = freshPrefix()
    const dollars = version(prefix, budget('usd', 50_000_000))
    await dollars.check({ tenant: 'acme' }, { cost: { usd: 1_250_000 } })
    const requests = version(prefix, budget('request', 10_000))
    expect(await requests.check({ tenant: 'acme' })).toMatchObject({
      allowed: false,
      reason: 'monthly_quota_exceeded',
    })
  })

  it('settles a reservation of the other version in the policy that both have', async () => {
    const prefix = freshPrefix()
    const old = version(prefix, tpm('tpm'))
    const reserved = async () =>
      JSON.stringify(await reserve(old, { tenant: 'acme' }, { cost: { token: 40 } }))
    await reservation(version(prefix, tpm('tpm')), await reserved()).settle({ token: 10 })
    expect(await look(old, { token: 0 })).toMatchObject({ used: 10 })
    const renamed = version(prefix, tpm('tokens'))
    await reservation(renamed, await reserved()).settle({ token: 10 })
    expect(await look(old, { token: 0 })).toMatchObject({ used: 50 })
    expect(await look(renamed, { token: 0 })).toMatchObject({ used: 0 })
  })
})

describe('two budgets beside each other', () => {
  const folder = mkdtempSync(fileURLToPath(new URL('upgrade-', import.meta.url)))
  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  it('both deny a cost that neither has left', async () => {
    const { limiter } = await importBlock<{ limiter: Limiter }>(
      folder,
      'operate/upgrade.md',
      'budgets.ts',
    )
    const spend = (dollars: number) =>
      limiter.check({ tenant: 'acme' }, { cost: { usd: usd(dollars) } })
    expect(await spend(3)).toMatchObject({ allowed: true })
    expect(await spend(1)).toMatchObject({ violated: { name: 'budget-day' } })
    const { policies } = await spend(48)
    expect(policies.map(({ name, fits }) => [name, fits])).toEqual([
      ['budget', false],
      ['budget-day', false],
    ])
  })
})
