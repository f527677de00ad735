import { describe, expect, it } from 'vitest'
import { ConfigError } from '@sluice/core'
import {
  Issue,
  issueOf as asIssue,
  withIssues,
} from '../../../apps/site/playground/engine/issue.ts'
import type { PolicyName } from '../../../apps/site/playground/engine/policies.ts'
import {
  policyForm,
  trafficForm,
  useForm,
  type Scenario,
} from '../../../apps/site/playground/engine/scenario.ts'
import { prepare } from '../../../apps/site/playground/engine/simulate.ts'
import type { TrafficName } from '../../../apps/site/playground/engine/traffic.ts'

const scenario = (changes: Partial<Scenario>): Scenario => ({
  policies: [policyForm('window')],
  traffic: trafficForm('steady'),
  use: useForm(),
  seed: '1',
  ...changes,
})

const issueOf = async (changes: Partial<Scenario>): Promise<unknown> =>
  prepare(scenario(changes)).catch((error: unknown) =>
    error instanceof Issue ? { path: error.path, message: error.message, code: error.code } : error,
  )

const UNITS = 'must be a whole number from 0 to 100000000000000, or "unlimited"; 0 allows nothing'
const A_LOG =
  'CSV with commas and a first line such as "time,tenant,cost", JSON with these names, or an access log'
const DURATION =
  'must be a text such as "500ms", "60s" or "30d", or milliseconds from 1000; at most 366 days'

describe('the mistake of a policy names its field, in the words of the product', () => {
  it.each<[PolicyName, Record<string, string>, string, string]>([
    ['window', { limit: '-1' }, 'limit', `slidingWindow.limit: ${UNITS} (given: -1)`],
    ['window', { limit: 'many' }, 'limit', `slidingWindow.limit: ${UNITS} (given: "many")`],
    ['window', { limit: '' }, 'limit', `slidingWindow.limit: ${UNITS} (given: "")`],
    [
      'window',
      { window: '1 minute' },
      'window',
      `slidingWindow.window: ${DURATION} (given: "1 minute")`,
    ],
    ['bucket', { burst: '0' }, 'burst', 'tokenBucket.burst: must be'],
    ['counter', { segments: '61' }, 'segments', 'slidingWindowCounter.segments: must be'],
    ['concurrency', { limit: '1001' }, 'limit', 'concurrency.limit: must be'],
    ['budget', { daily: '0.0001' }, 'daily', 'budget.daily: is in micro-dollars'],
    [
      'budget',
      { daily: '$5' },
      'daily',
      'must be dollars from 0 to a hundred million (given: "$5")',
    ],
    ['budget', { daily: '', monthly: '' }, '', 'budget: must have a daily or a monthly limit'],
    ['credits', { amount: 'ten' }, 'amount', 'must be dollars from 0 to a hundred million'],
    ['credits', { amount: '0' }, 'amount', 'at least 0.000001 dollars (given: "0")'],
    ['credits', { amount: '0.0000001' }, 'amount', 'must be at least 0.000001'],
    ['shares', { guarantee: '9999' }, 'guarantee', 'guarantee'],
    ['window', { unit: 'apples' }, 'unit', 'must be one of "request", "token"'],
  ])('%s %o', async (kind, texts, field, message) => {
    const policies = [policyForm('daily'), policyForm(kind, texts)]
    expect(await issueOf({ policies })).toMatchObject({
      path: field === '' ? 'policies.1' : `policies.1.${field}`,
      message: expect.stringContaining(message) as string,
      code: expect.stringMatching(/^invalid_/) as string,
    })
  })
})

describe('the mistake of traffic names its field', () => {
  it.each<[TrafficName, Record<string, string>, string, string]>([
    [
      'steady',
      { tenants: '0' },
      'tenants',
      'traffic.tenants: must be a whole number from 1 to 50 (given: 0)',
    ],
    ['steady', { lasts: 'long' }, 'lasts', `traffic.lasts: ${DURATION} (given: "long")`],
    [
      'steady',
      { perMinute: '60000', lasts: '1h' },
      'perMinute',
      'must make at most 200,000 requests together',
    ],
    // Of 50 tenants together, before any is made.
    ['steady', { tenants: '50', perMinute: '60000', lasts: '5s' }, 'perMinute', 'at most 200,000'],
    ['runaway', { tenants: '50', perMinute: '60000' }, 'perMinute', 'at most 200,000'],
    [
      'burst',
      { every: '1ms', lasts: '30d' },
      'every',
      'must make at most 200,000 requests together',
    ],
    [
      'storm',
      { clients: '1000', every: '1ms', lasts: '1d' },
      'clients',
      'must make at most 200,000',
    ],
    ['runaway', { begins: '5m', lasts: '5m' }, 'begins', 'must be shorter than "Lasts"'],
    ['runaway', { pause: '1ms', lasts: '1d' }, 'pause', 'must make at most 200,000'],
    ['log', { log: '' }, 'log', 'log: is empty: choose a file'],
    ['log', { log: 'a,b\n1,2' }, 'log', `log: must be ${A_LOG}: it has no column "time"`],
    ['log', { log: 'when,tenant\n1,2' }, 'log', 'no column "time"; the log has these: "when"'],
    ['log', { log: 'time,cost\n1,2' }, 'log', `${A_LOG}: it has no column "tenant"`],
    ['log', { log: 'time;tenant\n1;2' }, 'log', 'its columns are divided by semicolons'],
    ['log', { log: 'time\ttenant\n1\t2' }, 'log', 'its columns are divided by tabs'],
    ['log', { log: 'time,tenant\n1,2\n1.5,2' }, 'log', 'line 2: "time" is not a time; 2'],
    [
      'log',
      { log: 'time,tenant\nnoon,a\nlate,b' },
      'log',
      'log: line 2: "time" is not a time; 2 lines cannot be read',
    ],
    ['log', { log: 'time,tenant\n' }, 'log', 'log: has no requests'],
    ['storm', { retry: 'never' }, 'retry', 'must be one of "soon", "after"'],
  ])('%s %o', async (kind, texts, field, message) => {
    expect(await issueOf({ traffic: trafficForm(kind, texts) })).toMatchObject({
      path: `traffic.${field}`,
      message: expect.stringContaining(message) as string,
    })
  })
})

it('the mistake of the use of a call names its field', async () => {
  expect(await issueOf({ use: useForm({ seconds: '-1' }) })).toMatchObject({
    path: 'use.seconds',
    message: 'use.seconds: must be a whole number from 0 to 3000 (given: -1)',
  })
})

it.each(['x', '', '0', '1000000'])('the mistake of a seed names it: "%s"', async (seed) => {
  expect(await issueOf({ seed })).toMatchObject({
    path: 'seed',
    message: expect.stringContaining('seed: must be a whole number from 1 to 999999') as string,
  })
})

it('a scenario has a policy, and not too many', async () => {
  const message = 'policies: must have 1 to 6 policies'
  expect(await issueOf({ policies: [] })).toMatchObject({ path: 'policies', message })
  const policies = Array.from({ length: 7 }, () => policyForm('window'))
  expect(await issueOf({ policies })).toMatchObject({ path: 'policies', message })
})

it('a log lacks the column that a policy counts', async () => {
  const traffic = trafficForm('log', { log: 'time,tenant\n2026-01-05T09:00:00Z,a\n' })
  expect(await issueOf({ policies: [policyForm('budget')], traffic })).toMatchObject({
    path: 'traffic.log',
    message: 'log: must have "cost", or "model", "input" and "output": a policy counts them',
  })
})

describe('every error is shown', () => {
  const { code, message, option } = new ConfigError(
    'invalid_option',
    'grant.amount',
    'must be more',
  )
  // As a second copy of the product in a built page throws it.
  const copy = Object.assign(new Error(message), { code, option })
  it.each([
    ['of the product', copy, { path: '', code, message: 'grant.amount: must be more' }],
    [
      'of a part that is not loaded',
      new TypeError('Failed to fetch dynamically imported module: x.js'),
      { path: '', code: undefined, message: expect.stringContaining('cannot be loaded') as string },
    ],
    ['of any other kind', new RangeError('too deep'), { message: 'This cannot be run: too deep' }],
    ['that is none', 'odd', { message: 'This cannot be run: odd' }],
  ])('%s', async (_, error, issue) => {
    expect(asIssue(error)).toMatchObject(issue)
  })

  it('at its field', async () => {
    const failing = withIssues('policies.0', { amount: 1 }, () => Promise.reject(copy))
    await expect(failing).rejects.toMatchObject({ name: 'Issue', path: 'policies.0.amount' })
  })
})
