/* The limits of an API as its customers may read them: without those that are not theirs. */
import { definitionOf, type Limiter, type Units } from '@sluice/core'
import { refuse } from './errors.ts'
import { amountsOf, isForAll, type Amount, type Amounts, type Rule } from './limit-facts.ts'
import { option } from './wording.ts'

/** The units that a customer has, or the reason why the code does not say. */
export interface PublicAmount extends Pick<Amount, 'atOnce'> {
  readonly limit: Units | 'by agreement' | 'depends on the request'
}

/** A limit that a customer has. */
export interface PublicLimit {
  /** The name by which a 429 calls it. */
  readonly policy: string
  readonly unit: string
  /** The time that it is for, such as `per minute`. */
  readonly period: string
  /** The owner of the budget, as a 429 names it. */
  readonly scope: string
  /** The routes that it is for. @default all */
  readonly routes: readonly string[] | undefined
  /** One amount, or one for each plan. */
  readonly amount: PublicAmount | { readonly plans: Readonly<Record<string, PublicAmount>> }
}

/** The limits of customers, and the plans that they are for. */
export interface PublicLimits {
  readonly limits: readonly PublicLimit[]
  /** The plans to print, in this order. */
  readonly plans: readonly string[]
  readonly defaultPlan: string | undefined
}

/**
 * Returns the limits of the code that customers have. Left out are those of everyone together, in shadow, in a rollout, of
 * balances, shares and lines, and those that all plans have unlimited.
 *
 * @param chosen The plans to print. @default all
 * @throws CommandError When a plan is unknown.
 */
export function publicLimits(limiter: Limiter, chosen?: readonly string[]): PublicLimits {
  const { rules, plans } = definitionOf(limiter)
  const names = plansAmong(plans?.names ?? [], chosen)
  const limits = rules.filter(isPublic).map((rule) => ({
    policy: rule.name,
    unit: rule.unit,
    period: periodOf(rule),
    scope: rule.scope,
    routes: rule.routes,
    amount: publicAmounts(amountsOf(rule, plans, names)),
  }))
  return {
    limits: limits.filter(({ amount }) => 'plans' in amount || amount.limit !== 'unlimited'),
    plans: names,
    defaultPlan: plans?.defaultPlan,
  }
}

function plansAmong(all: readonly string[], chosen = all): readonly string[] {
  const unknown = chosen.find((name) => !all.includes(name))
  if (unknown === undefined) return [...new Set(chosen)]
  const known = all.length === 0 ? 'the limiter has none' : `the limiter has ${all.join(', ')}`
  return refuse(`${option('plans')} names "${unknown}", which is no plan: ${known}`)
}

// A rule that follows another, as shares and lines do, tells a customer nothing more.
const isPublic = (rule: Rule): boolean =>
  rule.per !== 'global' &&
  rule.mode === 'enforce' &&
  isForAll(rule) &&
  !rule.balance &&
  !rule.follows

const publicAmounts = (amounts: Amounts): PublicLimit['amount'] =>
  'plans' in amounts
    ? {
        plans: Object.fromEntries(
          Object.entries(amounts.plans).map(([name, amount]) => [name, publicAmount(amount)]),
        ),
      }
    : publicAmount(amounts)

function publicAmount({ limit, ...rest }: Amount): PublicAmount {
  if (limit === 'configured') return { limit: 'by agreement' }
  return limit === 'by request' ? { limit: 'depends on the request' } : { limit, ...rest }
}

const DAY_MS = 86_400_000
const STEPS = [
  ['week', 7 * DAY_MS],
  ['day', DAY_MS],
  ['hour', 3_600_000],
  ['minute', 60_000],
  ['second', 1_000],
] as const
const YEAR_MS = 365 * DAY_MS

/** Returns a time in words, in the largest unit of which it is a whole number, else in seconds: `minute`, `5 hours`, `61.001 seconds`. */
function timeText(ms: number, one = ''): string {
  const odd = ms < 1_000 ? (['millisecond', 1] as const) : STEPS[4]
  const [name, length] = STEPS.find(([, step]) => ms % step === 0) ?? odd
  const count = ms / length
  return count === 1 ? `${one}${name}` : `${NUMBER.format(count)} ${name}s`
}

const NUMBER = new Intl.NumberFormat('en-US')

function periodOf(rule: Rule): string {
  const { reason, algorithm, windowMs, params, calendar } = rule
  if (reason === 'concurrency_exceeded') return 'at the same time'
  if (algorithm.id === 'session') {
    // With a length, there are two numbers: the pause that ends it before, and the length.
    return params.length === 2
      ? `in ${timeText(windowMs, '1 ')} from first use`
      : `until ${timeText(windowMs, '1 ')} without use`
  }
  return `per ${lengthOf(rule)}${zoneText({ algorithm, windowMs, calendar })}`
}

function lengthOf({ reason, windowMs, calendar, algorithm }: Rule): string {
  if (reason === 'monthly_quota_exceeded' || (calendar && windowMs === 31 * DAY_MS)) return 'month'
  if (calendar && windowMs >= YEAR_MS) return 'year'
  // Seven days from a Thursday, as the epoch begins, are not what a customer calls a week.
  const isFixed = !calendar && hasDays(algorithm, windowMs)
  return isFixed && windowMs > DAY_MS
    ? `${NUMBER.format(windowMs / DAY_MS)} days`
    : timeText(windowMs)
}

/** Returns the zone in which the days of a period begin. Windows that slide have none. */
function zoneText({
  algorithm,
  windowMs,
  calendar,
}: Pick<Rule, 'algorithm' | 'windowMs' | 'calendar'>): string {
  if (calendar) return calendar.zone === undefined ? OF_CUSTOMER : ` (${calendar.zone})`
  return hasDays(algorithm, windowMs) ? ' (UTC)' : ''
}

/** Returns true if all owners' windows begin at the same midnights. */
const hasDays = ({ traits }: Rule['algorithm'], windowMs: number): boolean =>
  traits?.windowEnd !== undefined && windowMs % DAY_MS === 0

const OF_CUSTOMER = " in the customer's time zone"
