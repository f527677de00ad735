import { assertOptionRules, assertText, invalidOption } from '@sluice/core/internal'
import { monthOf, PERIOD_MS } from '../../hours.ts'
import type { LocalPeriod, Usage, UsageRow } from '../../rows.ts'
import { csvLine, dollars } from '@sluice/core/internal/text'

/** Options of `focusCsv`. */
export interface FocusOptions {
  /** The account that pays the provider: `BillingAccountId`. */
  readonly billingAccount: string
  /** The seller of the model calls, such as `'OpenAI'`: `ProviderName`, `PublisherName` and `InvoiceIssuerName`. */
  readonly provider: string
  /** The name of what is sold: `ServiceName`. @default 'Model calls' */
  readonly service?: string
}

/** The columns that FOCUS 1.2 demands, those for a tenant and a quantity, and those of Sluice (`x_`). */
type Column = (row: UsageRow, options: Required<FocusOptions>, times: RowTimes) => Cell
/** The end of a row's period, and the month that it lies in. */
interface RowTimes {
  readonly end: number
  readonly month: Pick<LocalPeriod, 'start' | 'end'>
}
type Cell = Parameters<typeof csvLine>[0][number]

const cost: Column = ({ usd }) => dollars(usd)
const provider: Column = (_, options) => options.provider
const quantity: Column = ({ tokens, requests }) => (tokens === 0 ? requests : tokens)
const unit: Column = ({ tokens }) => (tokens === 0 ? 'Requests' : 'Tokens')
const nothing: Column = () => ''

const COLUMNS: Readonly<Record<string, Column>> = {
  BilledCost: cost,
  BillingAccountId: (_, { billingAccount }) => billingAccount,
  BillingAccountName: nothing,
  BillingCurrency: () => 'USD',
  BillingPeriodEnd: (_, __, { month }) => time(month.end),
  BillingPeriodStart: (_, __, { month }) => time(month.start),
  ChargeCategory: () => 'Usage',
  ChargeClass: nothing,
  ChargeDescription: ({ model, route }) =>
    `Model calls${model && ` of ${model}`}${route && ` by ${route}`}`,
  ChargeFrequency: () => 'Usage-Based',
  ChargePeriodEnd: (_, __, { end }) => time(end),
  ChargePeriodStart: ({ start }) => time(start),
  ConsumedQuantity: quantity,
  ConsumedUnit: unit,
  ContractedCost: cost,
  EffectiveCost: cost,
  InvoiceIssuerName: provider,
  ListCost: cost,
  PricingQuantity: quantity,
  PricingUnit: unit,
  ProviderName: provider,
  PublisherName: provider,
  ServiceCategory: () => 'AI and Machine Learning',
  ServiceName: (_, { service }) => service,
  ServiceSubcategory: () => 'Generative AI',
  SubAccountId: ({ tenant }) => tenant,
  SubAccountName: ({ tenant }) => tenant,
  x_Model: ({ model }) => model,
  x_Plan: ({ plan }) => plan,
  x_Requests: ({ requests }) => requests,
  x_Route: ({ route }) => route,
}

type Used = Pick<Usage, 'rows' | 'by' | 'calendar'>

/**
 * Yields the lines of a CSV file in the FinOps Open Cost and Usage Specification (FOCUS) 1.2: what was used, and
 * nothing of what was denied. Tenants are sub-accounts. With a calendar, billing periods are its months, and `x_TimeZone` is
 * its zone; times are UTC, as FOCUS demands.
 *
 * @throws ConfigError When an option is unknown or missing, or rows are by week or year, which lie in no billing period.
 */
export function* focusCsvLines(used: Used, options: FocusOptions): Generator<string> {
  const rules = { billingAccount: assertText, provider: assertText, service: assertText }
  assertOptionRules('focusCsv', options, rules, 'billingAccount', 'provider')
  const all = { ...options, service: options.service ?? 'Model calls' }
  const { rows, by, calendar } = used
  if (by === 'week' || by === 'year') {
    const message = 'must be by hour, day or month: a row lies in one billing period'
    throw invalidOption('focusCsv.by', message, by)
  }
  const zone = calendar && [calendar.zone]
  yield csvLine([...Object.keys(COLUMNS), ...(zone ? ['x_TimeZone'] : [])])
  for (const row of rows) {
    if (row.outcome !== 'allowed') continue
    const times = timesOf(row.start, used)
    const cells = Object.values(COLUMNS).map((column) => column(row, all, times))
    yield csvLine([...cells, ...(zone ?? [])])
  }
}

/**
 * Returns a CSV file in FOCUS 1.2, for tools that compare the costs of providers.
 *
 * @throws ConfigError When an option is unknown or missing.
 * @example
 * const used = await usage(limiter, { by: 'day' })
 * const file = focusCsv(used, { billingAccount: 'org-1', provider: 'OpenAI' })
 */
export const focusCsv = (used: Used, options: FocusOptions): string =>
  [...focusCsvLines(used, options)].join('')

const time = (at: number): string => new Date(at).toISOString().replace('.000Z', 'Z')

function timesOf(start: number, { by, calendar }: Used): RowTimes {
  const within = (periods: readonly LocalPeriod[]): LocalPeriod | undefined =>
    periods.find((period) => period.start <= start && start < period.end)
  const month = within(calendar?.months ?? []) ?? monthOf(start)
  if (by === 'month') return { end: month.end, month }
  const ownMs = PERIOD_MS[by === 'hour' ? by : 'day']
  return { end: within(calendar?.periods ?? [])?.end ?? start + ownMs, month }
}
