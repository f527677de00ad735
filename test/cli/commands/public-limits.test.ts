import { afterAll, describe, expect, it } from 'vitest'
import { BUDGET_FILE, limitsFile } from '../limits.ts'
import { jsonOf } from '../operator.ts'
import { project, removeProjects } from '../project.ts'

afterAll(removeProjects)

/** A project with these policies, and plans. */
const appWith = (policies: string, plans = '') =>
  project({
    'limits.ts': `
import * as core from '@sluice/core'
import { calendar } from '@sluice/core/calendars'
import { credits } from '@sluice/core/credits'
import { memory } from '@sluice/core/memory'
import { budget, usd } from '@sluice/ai'

const per = ['tenant']
const limit = 60
const window = '1m'
const name = 'secret-name'
export const limiter = core.createLimiter({
  store: memory(),
  onStoreError: 'deny',
  ${plans}
  policies: [${policies}],
})
`,
  })

const show = async (policies: string, plans?: string) =>
  await appWith(policies, plans).sluice(['show', '--public'])

const HEAD = ['| Limit | For each | Amount |', '| --- | --- | --- |']

describe('the table of limits for customers', () => {
  it('has a column for each plan, no limit of everyone, and needs no store', async () => {
    const app = project({ 'src/limits.ts': limitsFile('prefix'), 'src/budget.ts': BUDGET_FILE })
    const { out, err, exitCode } = await app.sluice(['show', '--public'])
    expect({ err, exitCode }).toEqual({ err: '', exitCode: 0 })
    expect(out.trim().split('\n')).toEqual([
      '| Limit | For each | starter | growth |',
      '| --- | --- | --- | --- |',
      '| Requests per minute | tenant | 20 | 60 |',
      '| Requests per day | tenant and route | 500 | 500 |',
      '| Dollars per month | tenant | $50.00 | $50.00 |',
    ])
  })

  it.each([
    ['core.slidingWindow({ name, limit, window, per })', 'Requests per minute | tenant | 60'],
    [
      "core.slidingWindowCounter({ name, limit: 5_000_000, window: '5m', per, unit: 'input_token' })",
      'Input tokens per 5 minutes | tenant | 5,000,000',
    ],
    [
      'core.tokenBucket({ name, limit, window, per, burst: 9 })',
      'Requests per minute | tenant | 60, at most 9 at once',
    ],
    [
      "core.fixedWindow({ name, limit, window: '90s', per })",
      'Requests per 90 seconds | tenant | 60',
    ],
    ['core.dailyCap({ name, limit, per })', 'Requests per day | tenant | 60'],
    ['core.monthlyCap({ name, limit, per })', 'Requests per month | tenant | 60'],
    [
      "core.fixedWindow({ name, limit, per, resets: calendar({ every: 'year' }) })",
      'Requests per year | tenant | 60',
    ],
    [
      "core.fixedWindow({ name, limit, per, resets: calendar({ every: 'month' }) })",
      'Requests per month | tenant | 60',
    ],
    [
      "core.fixedWindow({ name, limit, per, resets: calendar({ every: 'week' }) })",
      'Requests per week | tenant | 60',
    ],
    [
      "core.sessionWindow({ name, limit, length: '5h', per })",
      'Requests in 5 hours from first use | tenant | 60',
    ],
    [
      "core.sessionWindow({ name, limit, idle: '1h', per: ['run'] })",
      'Requests until 1 hour without use | run | 60',
    ],
    ['core.concurrency({ name, limit, per })', 'Calls at the same time | tenant | 60'],
    [
      "core.slidingWindow({ name, limit: 'unlimited', window, per })",
      'Requests per minute | tenant | unlimited',
    ],
    [
      "core.slidingWindow({ name, limit: ({ route }) => (route === 'chat' ? 1 : 2), window, per })",
      'Requests per minute | tenant | depends on the request',
    ],
    [
      "core.slidingWindow({ name, limit, window, per, scope: 'account', routes: ['chat', 'images'] })",
      'Requests per minute (chat, images) | account | 60',
    ],
    ['budget({ daily: usd(1234.5), per })', 'Dollars per day | tenant | $1,234.50'],
    ['budget({ daily: usd(0.0015), per })', 'Dollars per day | tenant | $0.0015'],
  ])('says in words what %s gives, and not its name', async (policy, row) => {
    const { out, err } = await show(policy)
    expect(err).toBe('')
    expect(out.trim().split('\n')).toEqual([...HEAD, `| ${row} |`])
  })

  it('says that a limit is by agreement where it is set at run time', async () => {
    const app = project({
      'limits.ts': `
import { createLimiter, slidingWindow } from '@sluice/core'
import { runtimeConfiguration } from '@sluice/core/configuration'
import { memory } from '@sluice/core/memory'
export const limiter = createLimiter({
  store: memory(),
  policies: [slidingWindow({ name: 'own', limit: 'configured', window: '1m', per: ['tenant'] })],
  extensions: [runtimeConfiguration({ allow: { own: ['limit'] } })],
})`,
    })
    const { out } = await app.sluice(['show', '--public'])
    expect(out).toContain('| Requests per minute | tenant | by agreement |')
  })

  it('writes names as the code has them', async () => {
    const plans = "plans: core.definePlans({ pro_max: { rpm: 1 }, 'v1.two': { rpm: 2 } }),"
    const policy = 'core.slidingWindow({ name, limit: ({ plan }) => plan.rpm, window, per })'
    const { out } = await show(policy, plans)
    expect(out.split('\n')[0]).toBe('| Limit | For each | pro_max | v1.two |')
  })

  it('leaves out limits that are not those of a customer', async () => {
    const left = await show(`
      core.slidingWindow({ name, limit, window, per }),
      core.slidingWindow({ name: 'all', limit, window, per: 'global' }),
      core.slidingWindow({ name: 'trial', limit, window, per, mode: 'shadow' }),
      core.slidingWindow({ name: 'part', limit, window, per, rollout: core.rollout({ enforced: 10 }) }),
      credits({ name: 'balance', per, unsettled: 'keep' }),
    `)
    expect(left.out.trim().split('\n')).toEqual([...HEAD, '| Requests per minute | tenant | 60 |'])
  })

  it('refuses if none is left, and for one subject', async () => {
    const app = appWith("core.slidingWindow({ name, limit, window, per: 'global' })")
    const none = await app.sluice(['show', '--public'])
    expect(none).toMatchObject({ out: '', exitCode: 1 })
    expect(none.err).toContain('no limit is for customers')
    const one = await app.sluice(['show', '--public', '--tenant', 'acme'])
    expect(one.err).toContain('--public is for all customers: leave out the subject')
  })

  it('has the numbers for programs', async () => {
    const app = project({ 'src/limits.ts': limitsFile('prefix'), 'src/budget.ts': BUDGET_FILE })
    const json = jsonOf(await app.sluice(['show', '--public', '--json']))
    expect(json).toEqual({
      limits: [
        {
          unit: 'request',
          period: 'per minute',
          scope: 'tenant',
          amount: { plans: { starter: { limit: 20 }, growth: { limit: 60 } } },
        },
        { unit: 'request', period: 'per day', scope: 'tenant+route', amount: { limit: 500 } },
        { unit: 'usd', period: 'per month', scope: 'tenant', amount: { limit: 50_000_000 } },
      ],
    })
  })
})
