/*
 * The rules of the FinOps Open Cost and Usage Specification (FOCUS) 1.2 for a file of usage, written down from
 * its columns' "Content Constraints" and requirements, not from the code of the export.
 */

type Type = 'text' | 'number' | 'time' | 'currency'

interface ColumnRule {
  readonly type: Type
  /** "Allows nulls"; here also where a requirement forbids null for charges of the category "Usage". */
  readonly nullable: boolean
  readonly allowed?: readonly string[]
}

const text = { type: 'text', nullable: false } as const
const number = { type: 'number', nullable: false } as const
const time = { type: 'time', nullable: false } as const
const nullableText = { type: 'text', nullable: true } as const

/** The columns of the feature level "Mandatory". */
const MANDATORY: Readonly<Record<string, ColumnRule>> = {
  BilledCost: number,
  BillingAccountId: text,
  BillingAccountName: nullableText,
  BillingCurrency: { type: 'currency', nullable: false },
  BillingPeriodEnd: time,
  BillingPeriodStart: time,
  ChargeCategory: { ...text, allowed: ['Usage', 'Purchase', 'Tax', 'Credit', 'Adjustment'] },
  ChargeClass: { ...nullableText, allowed: ['Correction'] },
  ChargeDescription: nullableText,
  ChargePeriodEnd: time,
  ChargePeriodStart: time,
  ContractedCost: number,
  EffectiveCost: number,
  InvoiceIssuerName: text,
  ListCost: number,
  PricingQuantity: number,
  PricingUnit: text,
  ProviderName: text,
  PublisherName: text,
  ServiceCategory: {
    ...text,
    allowed: [
      'AI and Machine Learning',
      'Analytics',
      'Business Applications',
      'Compute',
      'Databases',
      'Developer Tools',
      'Identity',
      'Integration',
      'Internet of Things',
      'Management and Governance',
      'Media',
      'Migration',
      'Mobile',
      'Multicloud',
      'Networking',
      'Security',
      'Storage',
      'Web',
      'Other',
    ],
  },
  ServiceName: text,
}

/** Columns of the levels "Conditional" and "Recommended" that describe usage. Others would be mistakes. */
const OPTIONAL: Readonly<Record<string, ColumnRule>> = {
  ChargeFrequency: { ...text, allowed: ['One-Time', 'Recurring', 'Usage-Based'] },
  ConsumedQuantity: number,
  ConsumedUnit: text,
  // The subcategories of "AI and Machine Learning".
  ServiceSubcategory: {
    ...text,
    allowed: [
      'Bots',
      'Generative AI',
      'Machine Learning',
      'Natural Language Processing',
      'Other (AI and Machine Learning)',
    ],
  },
  SubAccountId: nullableText,
  SubAccountName: nullableText,
}

const FORMATS: Readonly<Record<Exclude<Type, 'text'>, RegExp>> = {
  // Numeric Format: digits, a point, a sign, E notation; no symbols and no separators.
  number: /^-?\d+(\.\d+)?(E-?\d+)?$/i,
  // Date/Time Format: ISO 8601 in UTC.
  time: /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/,
  // Currency Code Format: ISO 4217.
  currency: /^[A-Z]{3}$/,
}

/** Returns each rule that a file breaks, as a sentence. */
export function violations(file: string): string[] {
  const [header = [], ...lines] = parseCsv(file)
  const rules = { ...MANDATORY, ...OPTIONAL }
  const isKnown = (name: string): boolean => name in rules || /^x_[A-Z]\w*$/.test(name)
  return [
    ...Object.keys(MANDATORY)
      .filter((name) => !header.includes(name))
      .map((name) => `${name} is missing`),
    ...header.filter((name) => !isKnown(name)).map((name) => `${name} is no column of FOCUS`),
    ...header
      .filter((name, index) => header.indexOf(name) !== index || name.length > 50)
      .map((name) => `${name} is there twice, or too long`),
    ...(lines.length === 0 ? ['There is no row'] : []),
    ...lines.flatMap((cells) => {
      if (cells.length !== header.length) return ['A row has other columns than the header']
      const row = Object.fromEntries(header.map((name, index) => [name, cells[index] ?? '']))
      return Object.entries(rules)
        .flatMap(([name, rule]) => cellViolation(name, rule, row))
        .concat(rowViolations(row))
    }),
  ]
}

type Row = Readonly<Record<string, string>>

function cellViolation(name: string, { type, nullable, allowed }: ColumnRule, row: Row): string[] {
  const value = row[name]
  if (value === undefined) return []
  if (value === '') return nullable ? [] : [`${name} is null`]
  const isFormat = type === 'text' || FORMATS[type].test(value)
  if (!isFormat || (type === 'time' && Number.isNaN(Date.parse(value)))) {
    return [`${name}: ${value} is no ${type}`]
  }
  return allowed && !allowed.includes(value) ? [`${name}: ${value} is not allowed`] : []
}

/** The requirements that compare columns. */
function rowViolations(row: Row): string[] {
  const at = (name: string): number => Date.parse(row[name] ?? '')
  const monthAfter = new Date(at('BillingPeriodStart'))
  monthAfter.setUTCMonth(monthAfter.getUTCMonth() + 1)
  return Object.entries({
    'ChargePeriodEnd is before ChargePeriodStart': at('ChargePeriodEnd') <= at('ChargePeriodStart'),
    'The charge lies outside of its billing period':
      at('ChargePeriodStart') < at('BillingPeriodStart') ||
      at('ChargePeriodEnd') > at('BillingPeriodEnd'),
    'The billing period is no month': monthAfter.getTime() !== at('BillingPeriodEnd'),
    'Usage is a correction without reason': row['ChargeClass'] !== '',
    'ChargeFrequency does not fit the category':
      row['ChargeCategory'] === 'Purchase' && row['ChargeFrequency'] === 'Usage-Based',
    // Without unit prices and discounts, all costs of a charge are what is billed.
    'The costs of a charge differ': ['ContractedCost', 'EffectiveCost', 'ListCost'].some(
      (name) => row[name] !== row['BilledCost'],
    ),
    'SubAccountName is set without SubAccountId':
      row['SubAccountId'] === '' && row['SubAccountName'] !== '',
  }).flatMap(([sentence, isBroken]) => (isBroken ? [sentence] : []))
}

/** Reads CSV by RFC 4180. */
function parseCsv(file: string): string[][] {
  const rows: string[][] = []
  let row: string[] = []
  for (const [, quoted, plain = '', end] of file.matchAll(
    /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n)/g,
  )) {
    row.push(quoted?.replaceAll('""', '"') ?? plain)
    if (end === ',') continue
    rows.push(row)
    row = []
  }
  return rows
}
