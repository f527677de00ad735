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
import { fairShare } from '@sluice/core/fair-share'
import { waitingLine } from '@sluice/core/waiting'
import { credits } from '@sluice/core/credits'
import { memory } from '@sluice/core/memory'
import { budget, usd } from '@sluice/ai'

const per = ['tenant']
const limit = 60
const window = '1m'
const name = 'own'
export const limiter = core.createLimiter({
  store: memory(),
  onStoreError: 'deny',
  ${plans}
  policies: [${policies}],
})
`,
  })

const show = async (policies: string, plans?: string, ...args: readonly string[]) =>
  await appWith(policies, plans).sluice(['show', '--public', ...args])

const HEAD = ['| Policy | Limit | For each | Amount |', '| --- | --- | --- | --- |']

const PLANS =
  "plans: core.definePlans({ free: { rpm: 3 }, pro: { rpm: 60 }, staff: { rpm: 'unlimited' } }),"
const BY_PLAN = 'core.slidingWindow({ name, limit: ({ plan }) => plan.rpm, window, per })'

describe('the table of limits for customers', () => {
  it('has a column for each plan, no limit of everyone, and needs no store', async () => {
    const app = project({ 'src/limits.ts': limitsFile('prefix'), 'src/budget.ts': BUDGET_FILE })
    const { out, err, exitCode } = await app.sluice(['show', '--public'])
    expect({ err, exitCode }).toEqual({ err: '', exitCode: 0 })
    expect(out.trim().split('\n')).toEqual([
      '| Policy | Limit | For each | starter (default) | growth |',
      '| --- | --- | --- | --- | --- |',
      '| `rpm` | Requests per minute | tenant | 20 | 60 |',
      '| `daily` | Requests per day (UTC) | tenant and route | 500 | 500 |',
      '| `budget` | Dollars per month (UTC) | tenant | $50.00 | $50.00 |',
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
    [
      "core.fixedWindow({ name, limit, window: '7d', per })",
      'Requests per 7 days (UTC) | tenant | 60',
    ],
    ['core.dailyCap({ name, limit, per })', 'Requests per day (UTC) | tenant | 60'],
    ['core.monthlyCap({ name, limit, per })', 'Requests per month (UTC) | tenant | 60'],
    [
      "core.fixedWindow({ name, limit, per, resets: calendar({ every: 'year' }) })",
      'Requests per year (UTC) | tenant | 60',
    ],
    [
      "core.fixedWindow({ name, limit, per, resets: calendar({ every: 'month' }) })",
      'Requests per month (UTC) | tenant | 60',
    ],
    [
      "core.fixedWindow({ name, limit, per, resets: calendar({ every: 'week' }) })",
      'Requests per week (UTC) | tenant | 60',
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
      "core.slidingWindow({ name, limit: ({ route }) => (route === 'chat' ? 1 : 2), window, per })",
      'Requests per minute | tenant | depends on the request',
    ],
    [
      "core.slidingWindow({ name, limit, window, per, scope: 'account', routes: ['chat', 'images'] })",
      'Requests per minute (`chat`, `images`) | account | 60',
    ],
    [
      "core.slidingWindow({ name, limit, window, per, routes: ['/x/**', '_z_', '<b>|`'] })",
      'Requests per minute (`/x/**`, `_z_`, &#60;b&#62;&#124;&#96;) | tenant | 60',
    ],
    [
      "core.slidingWindow({ name, limit, window: 61_001, per, unit: 'query', scope: 'a_' })",
      'Queries per 61.001 seconds | `a_` | 60',
    ],
    [
      "core.slidingWindow({ name, limit, window: 1_500, per, unit: 'batch' })",
      'Batches per 1.5 seconds | tenant | 60',
    ],
    [
      "core.slidingWindow({ name, limit, window: '7d', per, unit: 'gpu_seconds' })",
      'Gpu seconds per week | tenant | 60',
    ],
    [
      "core.fixedWindow({ name, limit, window: '1d', per, unit: 'day' })",
      'Days per day (UTC) | tenant | 60',
    ],
    ["core.fixedWindow({ name, limit, window: '1h', per })", 'Requests per hour | tenant | 60'],
    [
      "core.dailyCap({ name, limit, per, resets: calendar({ zone: 'Europe/Berlin' }) })",
      'Requests per day (Europe/Berlin) | tenant | 60',
    ],
    [
      'core.monthlyCap({ name, limit, per, resets: calendar({ zone: ({ zone }) => zone }) })',
      "Requests per month in the customer's time zone | tenant | 60",
    ],
    [
      'core.slidingWindow({ name, limit, window, per, rollout: core.rollout({ enforced: 100 }) })',
      'Requests per minute | tenant | 60',
    ],
    ['budget({ daily: usd(1234.5), per })', 'Dollars per day (UTC) | tenant | $1,234.50'],
    ['budget({ daily: usd(0.0015), per })', 'Dollars per day (UTC) | tenant | $0.0015'],
  ])('says in words what %s gives', async (policy, row) => {
    const { out, err } = await show(policy)
    expect(err).toBe('')
    expect(out.trim().split('\n')).toEqual([
      ...HEAD,
      `| \`${/budget/.test(policy) ? 'budget.daily' : 'own'}\` | ${row} |`,
    ])
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

  it('formats nothing that is part of a name', async () => {
    const plans =
      "plans: core.definePlans({ pro_max: { rpm: 1 }, 'v1.two': { rpm: 2 }, a_: { rpm: 3 } }),"
    const { out } = await show(BY_PLAN, plans)
    expect(out.split('\n')[0]).toBe(
      '| Policy | Limit | For each | pro_max (default) | `v1.two` | `a_` |',
    )
  })

  it.each([
    ['all', undefined, 'free (default) | pro | staff', '3 | 60 | unlimited'],
    ['chosen, in their order', 'pro,free', 'pro | free (default)', '60 | 3'],
    ['one', 'pro', 'pro', '60'],
    ['a repeated one', 'pro,pro', 'pro', '60'],
  ])('has plans: %s', async (_, plans, heads, amounts) => {
    const { out, err } = await show(BY_PLAN, PLANS, ...(plans ? ['--plans', plans] : []))
    expect(err).toBe('')
    const [head, , row] = out.split('\n')
    expect({ head, row }).toEqual({
      head: `| Policy | Limit | For each | ${heads} |`,
      row: `| \`own\` | Requests per minute | tenant | ${amounts} |`,
    })
  })

  it.each([
    [
      ['--public', '--plans', 'free,gold'],
      PLANS,
      '--plans names "gold", which is no plan: the limiter has free, pro, staff',
    ],
    [
      ['--public', '--plans', 'free'],
      '',
      '--plans names "free", which is no plan: the limiter has none',
    ],
    [['--public', '--plans', 'free,'], PLANS, '--plans free, must be a list such as "a,b"'],
    [['--public', '--plans', 'staff'], PLANS, 'those that all plans have unlimited are left out'],
    [['--plans', 'free'], PLANS, '--plans chooses the plans of --public: add it'],
  ])('refuses %j', async (args, plans, says) => {
    const policy = plans ? BY_PLAN : 'core.slidingWindow({ name, limit, window, per })'
    const { out, err, exitCode } = await appWith(policy, plans).sluice(['show', ...args])
    expect({ out, exitCode }).toEqual({ out: '', exitCode: 1 })
    expect(err).toContain(says)
  })

  it('leaves out limits that are not those of a customer', async () => {
    const left = await show(`
      core.slidingWindow({ name, limit, window, per }),
      core.slidingWindow({ name: 'all', limit, window, per: 'global' }),
      core.slidingWindow({ name: 'free', limit: 'unlimited', window, per }),
      fairShare(core.slidingWindow({ name: 'shared', limit, window, per: ['model'] }), { between: per }),
      waitingLine(core.slidingWindow({ name: 'lined', limit, window, per: ['user'] })),
      core.slidingWindow({ name: 'trial', limit, window, per, mode: 'shadow' }),
      core.slidingWindow({ name: 'part', limit, window, per, rollout: core.rollout({ enforced: 10 }) }),
      credits({ name: 'balance', per, unsettled: 'keep' }),
    `)
    expect(left.out.trim().split('\n')).toEqual([
      ...HEAD,
      '| `own` | Requests per minute | tenant | 60 |',
      '| `shared` | Requests per minute | model | 60 |',
      '| `lined` | Requests per minute | user | 60 |',
    ])
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
      plans: ['starter', 'growth'],
      defaultPlan: 'starter',
      limits: [
        {
          policy: 'rpm',
          unit: 'request',
          period: 'per minute',
          scope: 'tenant',
          amount: { plans: { starter: { limit: 20 }, growth: { limit: 60 } } },
        },
        {
          policy: 'daily',
          unit: 'request',
          period: 'per day (UTC)',
          scope: 'tenant+route',
          amount: { limit: 500 },
        },
        {
          policy: 'budget',
          unit: 'usd',
          period: 'per month (UTC)',
          scope: 'tenant',
          amount: { limit: 50_000_000 },
        },
      ],
    })
  })
})
