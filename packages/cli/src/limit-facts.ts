/* The limits of a limiter as its code states them. */
import { definitionOf, type Limiter, type LimiterDefinition, type Units } from '@sluice/core'
import { attempt } from '@sluice/core/internal/limiter'

/** A limit: a number, one for each plan, or the reason why the code has none. */
type ShownLimit = Units | 'configured' | 'by request' | Readonly<Record<string, Units>>

export interface LimitFact {
  readonly name: string
  readonly limit: ShownLimit
  readonly unit: string
  readonly windowMs: number
  readonly per: string
}

/** Returns the limits that the code states, in the limiter's order. */
export function limitsOf(limiter: Limiter): LimitFact[] {
  const { rules, plans } = definitionOf(limiter)
  return rules.map(({ name, limit, unit, windowMs, per }) => ({
    name,
    limit: typeof limit === 'function' ? byPlan(limit, plans) : limit,
    unit,
    windowMs,
    per: per === 'global' ? per : per.join('+'),
  }))
}

/** Returns what a function gives to each plan. It may need what only a request has. */
function byPlan(
  limit: Extract<LimiterDefinition['rules'][number]['limit'], (context: never) => unknown>,
  plans: LimiterDefinition['plans'],
): ShownLimit {
  if (!plans) return 'by request'
  const limits = plans.names.map((name) => {
    const plan = plans.get(name) ?? {}
    return [name, attempt(() => limit({ plan, route: undefined, model: undefined }), undefined)]
  })
  const isKnown = limits.every(([, given]) => given !== undefined)
  return isKnown ? (Object.fromEntries(limits) as Readonly<Record<string, Units>>) : 'by request'
}
