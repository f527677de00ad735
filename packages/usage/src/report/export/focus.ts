import { ConfigError } from '@sluice/core'
import { assertKnownOptions } from '@sluice/core/internal'
import { PERIOD_MS } from '../../hours.ts'
import type { Usage, UsageRow } from '../../rows.ts'
import { csvLine, dollars } from './csv.ts'

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
type Column = (row: UsageRow, options: Required<FocusOptions>, periodMs: number) => Cell
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
  BillingPeriodEnd: ({ start }) => monthStart(start, 1),
  BillingPeriodStart: ({ start }) => monthStart(start, 0),
  ChargeCategory: () => 'Usage',
  ChargeClass: nothing,
  ChargeDescription: ({ model, route }) =>
    `Model calls${model && ` of ${model}`}${route && ` by ${route}`}`,
  ChargeFrequency: () => 'Usage-Based',
  ChargePeriodEnd: ({ start }, _, periodMs) => time(start + periodMs),
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

/**
 * Yields the lines of a CSV file in the FinOps Open Cost and Usage Specification (FOCUS) 1.2: what was used, and
 * nothing of what was denied. Tenants are sub-accounts.
 *
 * @throws ConfigError When an option is unknown or missing.
 */
export function* focusCsvLines(
  { rows, by }: Pick<Usage, 'rows' | 'by'>,
  options: FocusOptions,
): Generator<string> {
  assertKnownOptions('focusCsv', options, ['billingAccount', 'provider', 'service'])
  const all = {
    billingAccount: requireText('billingAccount', options.billingAccount),
    provider: requireText('provider', options.provider),
    service: requireText('service', options.service ?? 'Model calls'),
  }
  yield csvLine(Object.keys(COLUMNS))
  for (const row of rows) {
    if (row.outcome !== 'allowed') continue
    yield csvLine(Object.values(COLUMNS).map((column) => column(row, all, PERIOD_MS[by])))
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
export const focusCsv = (used: Pick<Usage, 'rows' | 'by'>, options: FocusOptions): string =>
  [...focusCsvLines(used, options)].join('')

const time = (at: number): string => new Date(at).toISOString().replace('.000Z', 'Z')

/** The start of the month of `at`, or of one of the months after it (UTC). */
function monthStart(at: number, later: number): string {
  const date = new Date(at)
  return time(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + later, 1))
}

function requireText(option: string, value: unknown): string {
  if (typeof value === 'string' && value !== '') return value
  throw new ConfigError('invalid_option', `focusCsv.${option}`, 'must be a text', value)
}
