import { slidingWindow, monthlyCap, dailyCap, fixedWindow } from '@sluice/core'
import { calendar } from '@sluice/core/calendars'
import {
  findings,
  focusCsv,
  shadowReport,
  shadowText,
  usage,
  usageCsv,
  type PolicyUsageRow,
  type Usage,
  type UsageRow,
} from '@sluice/usage/report'
import { describe, expect, it } from 'vitest'
import { readCalls } from '../../replay/support.ts'
import { NOON } from '../../support/times.ts'
import { recording } from '../support.ts'
import { DAY_MS } from './weeks.ts'

const HOUR = NOON - 30_000
const ROW: UsageRow = {
  start: HOUR,
  tenant: 'acme',
  route: 'chat',
  model: 'gpt-4o',
  plan: 'growth',
  outcome: 'allowed',
  requests: 3,
  tokens: 1_200,
  usd: 4_200,
}

describe('the CSV export', () => {
  it('has a line for each row, with times, and dollars to the last digit', () => {
    expect(usageCsv([ROW, { ...ROW, usd: -1_000_001 }])).toBe(
      'start,tenant,route,model,plan,outcome,requests,tokens,usd,dollars,' +
        'prevented_tokens,prevented_usd,prevented_dollars\r\n' +
        '2026-01-15T12:00:00.000Z,acme,chat,gpt-4o,growth,allowed,3,1200,4200,0.004200,0,0,0.000000\r\n' +
        '2026-01-15T12:00:00.000Z,acme,chat,gpt-4o,growth,allowed,3,1200,-1000001,-1.000001,0,0,0.000000\r\n',
    )
  })

  it('has no dollars that were prevented in a column of dollars that were spent', () => {
    const file = usageCsv([ROW, { ...ROW, outcome: 'denied', usd: 600_000 }])
    const sum = file
      .split('\r\n')
      .slice(1, -1)
      .reduce((total, line) => total + Number(line.split(',')[9]), 0)
    expect(sum).toBe(0.0042)
    expect(file).toContain(',denied,3,0,0,0.000000,1200,600000,0.600000\r\n')
  })

  it('is a log that replay reads', async () => {
    const { calls } = await readCalls(usageCsv([ROW]))
    const units = { token: 400, usd: 1_400 }
    expect(calls).toHaveLength(3)
    expect(calls[0]).toMatchObject({ subject: { tenant: 'acme', route: 'chat' }, units })
  })

  it.each([
    ['=HYPERLINK("http://x")', `"'=HYPERLINK(""http://x"")"`],
    ['+1', `'+1`],
    ['-1', `'-1`],
    ['@SUM(A1)', `'@SUM(A1)`],
    ['\t=1', `"'\t=1"`],
    ['\n=1', `"'\n=1"`],
    ['\0=1', `"'\0=1"`],
    ['\n', `"'\n"`],
    ['  =1', `"'  =1"`],
    ['\u00A0=1', `"'\u00A0=1"`],
    ['\u200B=1', `'\u200B=1`],
    ['\uFEFF@a', `"'\uFEFF@a"`],
    ['＝1', `'＝1`],
    ['＋1', `'＋1`],
    ['－1', `'－1`],
    ['＠a', `'＠a`],
    ['a;=1', '"a;=1"'],
    ['a=1', 'a=1'],
    ['\r=1', `"'\r=1"`],
    ['a,b', '"a,b"'],
    ['a\nb', '"a\nb"'],
  ])('writes the tenant %j so that no spreadsheet runs it', (tenant, cell) => {
    expect(usageCsv([{ ...ROW, tenant }])).toContain(`Z,${cell},chat`)
    const file = focusCsv({ by: 'hour', rows: [{ ...ROW, tenant }] }, ACCOUNT)
    expect(file).toContain(`,${cell},${cell},gpt-4o`)
  })
})

const ACCOUNT = { billingAccount: 'org-1', provider: 'OpenAI' }

describe('the FOCUS export', () => {
  it('has a line for each row of what was used', () => {
    const rows = [ROW, { ...ROW, outcome: 'denied' as const }, { ...ROW, tokens: 0, usd: 0 }]
    const [header = '', ...lines] = focusCsv({ by: 'hour', rows }, ACCOUNT).trim().split('\r\n')
    const columns = header.split(',')
    const records = lines.map((line) =>
      Object.fromEntries(line.split(',').map((cell, index) => [columns[index], cell])),
    )
    expect(records).toHaveLength(2)
    expect(records[0]).toMatchObject({
      BilledCost: '0.004200',
      BillingPeriodStart: '2026-01-01T00:00:00Z',
      BillingPeriodEnd: '2026-02-01T00:00:00Z',
      ChargeCategory: 'Usage',
      ChargePeriodStart: '2026-01-15T12:00:00Z',
      ChargePeriodEnd: '2026-01-15T13:00:00Z',
      PricingQuantity: '1200',
      PricingUnit: 'Tokens',
      SubAccountId: 'acme',
      x_Requests: '3',
    })
    expect(records[1]).toMatchObject({ PricingQuantity: '3', PricingUnit: 'Requests' })
  })

  it('needs the account and the provider', () => {
    const used = { by: 'day' as const, rows: [] }
    expect(() => focusCsv(used, { ...ACCOUNT, provider: '' })).toThrow('focusCsv.provider')
    expect(() => focusCsv(used, {} as never)).toThrow('focusCsv.billingAccount')
  })
})

const counts = (requests: number, denied: number, tokens: number): object => ({
  requests,
  denied,
  share: denied / requests,
  tokens,
  usd: 0,
})

it('the shadow report says what a policy would have denied, from its first decision', async () => {
  const { limiter, clock } = recording([
    slidingWindow({ name: 'tpm', unit: 'token', limit: 10_000, window: '1m', per: ['tenant'] }),
    slidingWindow({ name: 'next', limit: 1, window: '1m', per: ['tenant'], mode: 'shadow' }),
    dailyCap({ name: 'quiet', limit: 100, per: ['tenant'], mode: 'shadow' }),
  ])
  const check = (tenant: string, token: number) => limiter.check({ tenant }, { cost: { token } })
  for (const token of [100, 200, 300]) await check('acme', token)
  await check('globex', 50)
  clock.advance(3_600_000)
  for (const token of [10, 20]) await check('globex', token)
  // Denied by another policy: the shadow would have changed nothing.
  await check('globex', 20_000)

  const report = shadowReport(await usage(limiter))
  expect(report.policies).toEqual([
    {
      policy: 'next',
      ...counts(6, 3, 520),
      tenants: [
        { tenant: 'acme', ...counts(3, 2, 500) },
        { tenant: 'globex', ...counts(3, 1, 20) },
      ],
      times: [
        { start: HOUR, ...counts(4, 2, 500) },
        { start: HOUR + 3_600_000, ...counts(2, 1, 20) },
      ],
    },
    { policy: 'quiet', ...counts(6, 0, 0), tenants: [], times: [] },
  ])
  expect(shadowText(report)).toBe(`From 14 January, 14:00 to 15 January, 14:00 (UTC)

"next" would have denied 3 of 6 requests (50 %): 520 tokens
  acme would have denied 2 of 3 requests (67 %): 500 tokens
  globex would have denied 1 of 3 requests (33 %): 20 tokens
  Most in the hour from 15 January, 12:00: 2

"quiet" would have denied 0 of 6 requests (0 %)
`)
})

describe('findings of a limiter', () => {
  it('name those who have almost used up a day', async () => {
    const { limiter } = recording([dailyCap({ name: 'daily', limit: 10, per: ['tenant'] })])
    for (let call = 0; call < 9; call += 1) await limiter.check({ tenant: 'acme' })
    for (let call = 0; call < 8; call += 1) await limiter.check({ tenant: 'globex' })
    const texts = findings({ hours: await usage(limiter) }).map(({ text }) => text)
    expect(texts).toEqual(['acme used 90 % of "daily" (10 requests a day) on 15 January.'])
  })

  it.each([3, 7, 14])('name nobody for a first request, in rows of %i days', async (days) => {
    const { limiter } = recording()
    await limiter.check({ tenant: 'acme' }, { cost: { token: 1 } })
    expect(findings({ hours: await usage(limiter, { from: NOON - days * DAY_MS }) })).toEqual([])
  })

  it('take no budget of a year for one of a month', async () => {
    const resets = calendar({ every: 'year', zone: 'Asia/Tokyo' })
    const yearly = { name: 'own', unit: 'usd', limit: 5_000_000, per: ['tenant'] as const, resets }
    const { limiter, clock } = recording([fixedWindow(yearly)])
    for (let day = 15; day < 20; day += 1) {
      await limiter.check({ tenant: 'acme' }, { cost: { usd: 900_000 } })
      clock.advance(DAY_MS)
    }
    const hours = await usage(limiter)
    const days = await usage(limiter, { by: 'day', from: '2026-01-01' })
    expect(findings({ hours, days })).toEqual([])
    const local = await usage(limiter, { by: 'day', zone: 'Asia/Tokyo' })
    expect(() => findings({ hours, days: local })).toThrow('must be usage by day (UTC)')
  })

  it('name budgets that will not last the month, of a tenant and of everyone', async () => {
    const { limiter, clock } = recording([
      monthlyCap({ name: 'own', unit: 'usd', limit: 20_000_000, per: ['tenant'] }),
      monthlyCap({ name: 'all', unit: 'usd', limit: 25_000_000, per: 'global' }),
    ])
    for (let day = 15; day < 20; day += 1) {
      await limiter.check({ tenant: 'acme' }, { cost: { usd: 1_500_000 } })
      await limiter.check({ tenant: 'globex' }, { cost: { usd: 100_000 } })
      clock.advance(DAY_MS)
    }
    const hours = await usage(limiter)
    const days = await usage(limiter, { by: 'day', from: '2026-01-01' })
    expect(findings({ hours, days }).map(({ text }) => text)).toEqual([
      'Everyone together has spent $8.00 of $25.00 ("all") this month, and at $1.60 a day passes it on 30 January.',
      'acme has spent $7.50 of $20.00 ("own") this month, and at $1.50 a day passes it on 28 January.',
    ])
    expect(findings({ hours })).toEqual([])
  })
})

it('rows of other dimensions and rests are not taken for a tenant', () => {
  const row: PolicyUsageRow = {
    start: HOUR,
    tenant: '(other)',
    route: '',
    policy: 'daily',
    per: 'tenant',
    unit: 'request',
    limit: 10,
    windowMs: DAY_MS,
    requests: 10,
    units: 10,
    denied: 0,
    shadowRequests: 0,
    shadowDenied: 0,
    shadowTokens: 0,
    shadowUsd: 0,
  }
  const hours = (policies: PolicyUsageRow[]): Usage => ({
    by: 'hour',
    from: HOUR,
    to: HOUR + 3_600_000,
    rows: [],
    policies,
  })
  const perUser = { ...row, tenant: 'acme', per: 'user' }
  expect(findings({ hours: hours([row, perUser]) })).toEqual([])
  expect(findings({ hours: hours([perUser]), by: 'user' })).toHaveLength(1)
})
