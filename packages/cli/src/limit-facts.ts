/* The limits of a limiter as its code states them. */
import { definitionOf, type Limiter, type LimiterDefinition, type Units } from '@sluice/core'
import { attempt } from '@sluice/core/internal/limiter'

export type Rule = LimiterDefinition['rules'][number]
type Plans = LimiterDefinition['plans']

/** The units that the code states, or the reason why it states none. */
export type Stated = Units | 'configured' | 'by request'

/** A limit, and the most units at once of a bucket that holds another number. */
export interface Amount {
  readonly limit: Stated
  readonly atOnce?: number
}

/** One amount, or one for each plan. */
export type Amounts = Amount | { readonly plans: Readonly<Record<string, Amount>> }

export interface LimitFact {
  readonly name: string
  /** A limit, or one for each plan. Of a balance, what it includes. */
  readonly limit: Stated | Readonly<Record<string, Stated>>
  readonly unit: string
  readonly windowMs: number
  readonly per: string
  readonly mode: Rule['mode']
  /** The percentages of a policy that is not for all. */
  readonly rollout: { readonly enabled: number; readonly enforced: number } | undefined
  /** True for credits. */
  readonly isBalance: boolean
}

/** Returns the limits that the code states, in the limiter's order. */
export function limitsOf(limiter: Limiter): LimitFact[] {
  const { rules, plans } = definitionOf(limiter)
  return rules.map((rule) => {
    const { name, unit, windowMs, per, mode, rollout, balance } = rule
    const amounts = amountsOf(rule, plans)
    return {
      name,
      limit: 'plans' in amounts ? limitsIn(amounts.plans) : amounts.limit,
      unit,
      windowMs,
      per: per === 'global' ? per : per.join('+'),
      mode,
      rollout: isForAll(rule) ? undefined : rollout && pickShares(rollout),
      isBalance: balance !== undefined,
    }
  })
}

/** Returns true unless a rollout leaves somebody out. */
export const isForAll = ({ rollout }: Rule): boolean =>
  !rollout || (rollout.enabled === 100 && rollout.enforced === 100)

const pickShares = ({ enabled, enforced }: NonNullable<Rule['rollout']>) => ({ enabled, enforced })

const limitsIn = (amounts: Readonly<Record<string, Amount>>): Record<string, Stated> =>
  Object.fromEntries(Object.entries(amounts).map(([plan, { limit }]) => [plan, limit]))

/** Returns one amount if these plans have the same. */
export function amountsOf(
  rule: Rule,
  plans: Plans,
  names: readonly string[] = plans?.names ?? [],
): Amounts {
  const amounts = names.map((name) => [name, amountOf(rule, plans?.get(name) ?? {})] as const)
  const [[, first] = ['', amountOf(rule, {})]] = amounts
  const isOne = amounts.every(
    ([, { limit, atOnce }]) => limit === first.limit && atOnce === first.atOnce,
  )
  return isOne ? first : { plans: Object.fromEntries(amounts) }
}

function amountOf({ limit, burst }: Rule, plan: Readonly<Record<string, Units>>): Amount {
  const units = valueFor(limit, plan) ?? 'by request'
  const atOnce = valueFor(burst, plan)
  const isOther = typeof units === 'number' && typeof atOnce === 'number' && atOnce !== units
  return { limit: units, ...(isOther && { atOnce }) }
}

type Context = Parameters<Extract<Rule['limit'], (context: never) => unknown>>[0]

/** Returns the value of a limit for a plan, or `undefined` if it depends on the route or the model, too. */
function valueFor<Value>(
  value: Value | ((context: Context) => Value | undefined),
  plan: Readonly<Record<string, Units>>,
): Value | undefined {
  if (typeof value !== 'function') return value
  let isOfRequest = false
  const ask = (): undefined => {
    isOfRequest = true
  }
  const context = Object.defineProperties({ plan }, { route: { get: ask }, model: { get: ask } })
  const given = attempt(
    () => (value as (context: Context) => Value | undefined)(context as Context),
    undefined,
  )
  return isOfRequest ? undefined : given
}
