/* The limits of an API as its customers may read them: without names of policies, and without those that are not theirs. */
import { definitionOf, type Limiter, type LimiterDefinition, type Units } from '@sluice/core'
import { attempt } from '@sluice/core/internal/limiter'
import { refuse } from './errors.ts'
import { markdownTable } from './markdown.ts'

type Rule = LimiterDefinition['rules'][number]
type Plans = LimiterDefinition['plans']

/** The units that a customer has, or the reason why the code does not say. */
interface Amount {
  readonly limit: Units | 'by agreement' | 'depends on the request'
  /** The most units at once, of a bucket that holds another number. */
  readonly atOnce?: number
}

/** A limit that a customer has. */
export interface PublicLimit {
  readonly unit: string
  /** The time that it is for, such as `per minute`. */
  readonly period: string
  /** The owner of the budget, as a 429 names it. */
  readonly scope: string
  /** The routes that it is for. @default all */
  readonly routes: readonly string[] | undefined
  /** One amount, or one for each plan. */
  readonly amount: Amount | { readonly plans: Readonly<Record<string, Amount>> }
}

/**
 * Returns the limits of the code that customers have. Left out are those of everyone together, in shadow, in a rollout, and of
 * balances, shares and lines.
 */
export function publicLimits(limiter: Limiter): PublicLimit[] {
  const { rules, plans } = definitionOf(limiter)
  return rules.filter(isPublic).map((rule) => ({
    unit: rule.unit,
    period: periodOf(rule),
    scope: rule.scope,
    routes: rule.routes,
    amount: amountIn(rule, plans),
  }))
}

const INTERNAL = new Set(['shares', 'line'])

const isPublic = ({ per, mode, rollout, balance, algorithm }: Rule): boolean =>
  per !== 'global' &&
  mode === 'enforce' &&
  rollout === undefined &&
  balance === undefined &&
  !INTERNAL.has(algorithm.id)

/** Returns one amount if all plans have the same. */
function amountIn(rule: Rule, plans: Plans): PublicLimit['amount'] {
  if (!plans) return amountOf(rule, {})
  const amounts = plans.names.map((name) => [name, amountOf(rule, plans.get(name) ?? {})] as const)
  const [[, first] = ['', amountOf(rule, {})]] = amounts
  const isOne = amounts.every(
    ([, { limit, atOnce }]) => limit === first.limit && atOnce === first.atOnce,
  )
  return isOne ? first : { plans: Object.fromEntries(amounts) }
}

function amountOf({ limit, burst }: Rule, plan: Readonly<Record<string, Units>>): Amount {
  const units = valueFor(limit, plan)
  if (units === 'configured') return { limit: 'by agreement' }
  if (units !== 'unlimited' && typeof units !== 'number') return { limit: 'depends on the request' }
  const atOnce = valueFor(burst, plan)
  return { limit: units, ...(typeof atOnce === 'number' && atOnce !== units && { atOnce }) }
}

type Context = Parameters<Extract<Rule['limit'], (context: never) => unknown>>[0]

/** Returns the value of a limit for a plan, or `undefined` if it depends on the route or the model, too. */
function valueFor<Value>(
  value: Value | ((context: Context) => Value),
  plan: Readonly<Record<string, Units>>,
): Value | undefined {
  if (typeof value !== 'function') return value
  let isOfRequest = false
  const ask = (): undefined => {
    isOfRequest = true
  }
  const context = Object.defineProperties({ plan }, { route: { get: ask }, model: { get: ask } })
  const given = attempt(() => (value as (context: Context) => Value)(context as Context), undefined)
  return isOfRequest ? undefined : given
}

const STEPS = [
  ['week', 604_800_000],
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
  ['second', 1_000],
  ['millisecond', 1],
] as const
const YEAR_MS = 365 * 86_400_000

/** Returns a time in words: `minute`, `5 hours`. */
function timeText(ms: number, one = ''): string {
  const [name, length] = STEPS.find(([, step]) => ms % step === 0) ?? STEPS[5]
  const count = ms / length
  return count === 1 ? `${one}${name}` : `${count} ${name}s`
}

function periodOf({ reason, algorithm, windowMs, params, calendar }: Rule): string {
  if (reason === 'concurrency_exceeded') return 'at the same time'
  if (algorithm.id === 'session') {
    // With a length, there are two numbers: the pause that ends it before, and the length.
    return params.length === 2
      ? `in ${timeText(windowMs, '1 ')} from first use`
      : `until ${timeText(windowMs, '1 ')} without use`
  }
  if (reason === 'monthly_quota_exceeded' || (calendar && windowMs === 31 * 86_400_000))
    return 'per month'
  if (calendar && windowMs >= YEAR_MS) return 'per year'
  return `per ${timeText(windowMs)}`
}

/** Returns the table of a documentation, as Markdown. @throws CommandError When no limit is for customers. */
export function publicTable(limits: readonly PublicLimit[]): string {
  if (limits.length === 0)
    refuse(
      'no limit is for customers: those of everyone together, in shadow, in a rollout, and of balances, shares and lines are left out',
    )
  const plans = [
    ...new Set(
      limits.flatMap(({ amount }) => ('plans' in amount ? Object.keys(amount.plans) : [])),
    ),
  ]
  const rows = limits.map(({ unit, period, scope, routes, amount }) => [
    `${unitName(unit)} ${period}${routes ? ` (${routes.join(', ')})` : ''}`,
    scope.replaceAll('+', ' and '),
    ...(plans.length === 0 ? [''] : plans).map((plan) =>
      amountText('plans' in amount ? (amount.plans[plan] as Amount) : amount, unit),
    ),
  ])
  const head = ['Limit', 'For each', ...(plans.length === 0 ? ['Amount'] : plans)]
  // Names of the code, which people read in the source of their page, too.
  return markdownTable({ head, rows }, (text) => text.replaceAll('|', String.raw`\|`)).join('\n')
}

/** Returns the name of a unit as a title: `Input tokens`. */
function unitName(unit: string): string {
  const words = unit.replaceAll(/[_-]/g, ' ')
  return unit === 'usd' ? 'Dollars' : `${words.charAt(0).toUpperCase()}${words.slice(1)}s`
}

const NUMBER = new Intl.NumberFormat('en-US')
const DOLLARS = new Intl.NumberFormat('en-US', {
  style: 'currency',
  currency: 'USD',
  maximumFractionDigits: 6,
})

function amountText({ limit, atOnce }: Amount, unit: string): string {
  const inWords = (units: number): string =>
    unit === 'usd' ? DOLLARS.format(units / 1_000_000) : NUMBER.format(units)
  if (typeof limit !== 'number') return limit
  return `${inWords(limit)}${atOnce === undefined ? '' : `, at most ${inWords(atOnce)} at once`}`
}
