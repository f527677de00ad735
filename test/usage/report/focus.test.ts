import { focusCsv, type UsageRow } from '@sluice/usage/report'
import { describe, expect, it } from 'vitest'
import { violations } from './focus-rules.ts'

const row = (start: string, changes: Partial<UsageRow> = {}): UsageRow => ({
  start: Date.parse(start),
  tenant: 'acme',
  route: 'chat',
  model: 'gpt-4o',
  plan: 'growth',
  outcome: 'allowed',
  requests: 3,
  tokens: 1_200,
  usd: 4_200,
  ...changes,
})

/** Rows of every kind: without a tenant or route, with text that CSV must quote, and a correction. */
const ROWS = [
  row('2026-01-15T12:00:00Z'),
  row('2026-01-15T12:00:00Z', { tenant: '', route: '', model: '', plan: '' }),
  row('2026-01-15T12:00:00Z', { tenant: '=a,"b"\r\nc', route: '-1' }),
  row('2026-01-15T12:00:00Z', { tokens: 0, usd: 0 }),
  row('2026-01-15T12:00:00Z', { tenant: '(unknown)', requests: 0, tokens: -7, usd: -1_000_001 }),
  row('2026-01-15T12:00:00Z', { outcome: 'denied' }),
]

const ACCOUNT = { billingAccount: 'org-1', provider: 'OpenAI' }

describe('the FOCUS export keeps the rules of FOCUS 1.2', () => {
  it('for rows of every kind, by the hour', () => {
    expect(violations(focusCsv({ by: 'hour', rows: ROWS }, ACCOUNT))).toEqual([])
  })

  it('by the day, and at the end of months and years', () => {
    const starts = ['2026-01-31', '2026-02-28', '2028-02-29', '2026-12-31', '2027-01-01']
    const days = starts.map((day) => row(`${day}T00:00:00Z`))
    expect(violations(focusCsv({ by: 'day', rows: days }, ACCOUNT))).toEqual([])
    const hours = starts.map((day) => row(`${day}T23:00:00Z`))
    expect(violations(focusCsv({ by: 'hour', rows: hours }, ACCOUNT))).toEqual([])
  })

  it.each([
    ['BilledCost', 'Billedcost', ['BilledCost is missing', 'Billedcost is no column of FOCUS']],
    ['Usage,', 'usage,', ['ChargeCategory: usage is not allowed']],
    ['OpenAI', '', [expect.stringContaining('is null')]],
    ['USD', '$', ['BillingCurrency: $ is no currency']],
    ['0.004200', '$0.0042', [expect.stringContaining('is no number')]],
    ['13:00:00Z', '13:00', ['ChargePeriodEnd: 2026-01-15T13:00 is no time']],
    ['13:00:00Z', '11:00:00Z', ['ChargePeriodEnd is before ChargePeriodStart']],
    ['Generative AI', 'Containers', ['ServiceSubcategory: Containers is not allowed']],
    [',acme,', ',,', ['SubAccountName is set without SubAccountId']],
  ])('which would not accept it with %j as %j', (text, changed, expected) => {
    const file = focusCsv({ by: 'hour', rows: ROWS.slice(0, 1) }, ACCOUNT)
    expect(file).toContain(text)
    expect(violations(file.replace(text, changed))).toEqual(expect.arrayContaining(expected))
  })
})
