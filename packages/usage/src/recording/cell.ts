import type { Decision, PolicyRule, PolicyState, Subject } from '@sluice/core'
import { UNKNOWN } from '../rows.ts'
import { countingOf, modelsOf } from '@sluice/core/internal/limiter'

/**
 * The families of cells: allowed requests, denied requests, those denied because the store failed, estimates of
 * what denied requests would have used, policies, and requests with choices.
 */
export type Family = 'a' | 'd' | 'x' | 'e' | 'p' | 'c'

/** The identity of one row in the making. The first of `parts` is the tenant. */
export interface CellId {
  readonly family: Family
  readonly parts: readonly (string | number)[]
}

/** Units by their name. */
export type UnitAmounts = Readonly<Record<string, number>>

/** The longest text in a cell's name, in UTF-16 units. A longer one is cut. */
export const MAX_TEXT = 100

const text = (value: unknown): string => (typeof value === 'string' ? value.slice(0, MAX_TEXT) : '')

/** Returns the value of a dimension, or `''`. It is not cut: the hash of a tenant must be the whole id's. */
export function valueOf(subject: Subject, dimension: string): string {
  const value = (subject as Readonly<Record<string, unknown>>)[dimension]
  return typeof value === 'string' ? value : ''
}

/** Returns the cell of a request. Further dimensions that it has follow as `name=value`. */
export const requestCell = (
  family: Family,
  tenant: string,
  subject: Subject,
  { plan }: Pick<Decision, 'plan'>,
  dimensions: readonly string[],
): CellId => ({
  family,
  parts: [
    tenant,
    text(subject.route),
    text(subject.model),
    text(plan),
    ...dimensions.flatMap((name) => {
      const value = text(valueOf(subject, name))
      return value === '' ? [] : [`${name}=${value}`]
    }),
  ],
})

/**
 * Returns the cell of a policy. Its limit is a part, so that all that is counted can be added up; so is how it counts,
 * which tells whether a deployment begins its counts anew. The limit of a balance is what was there, so that each charge
 * would begin a cell: it has 0.
 */
export function policyCell(
  tenant: string,
  subject: Subject,
  { name, unit, limit, windowMs }: Pick<PolicyState, 'name' | 'unit' | 'limit' | 'windowMs'>,
  rule: PolicyRule | undefined,
): CellId {
  const counting = rule ? [countingOf(rule)] : []
  const per = rule?.per ?? 'global'
  const route = subject.route === UNKNOWN || per.includes('route') ? text(subject.route) : ''
  return {
    family: 'p',
    parts: [
      tenant,
      route,
      name,
      per === 'global' ? per : per.join('+'),
      unit,
      rule?.balance ? 0 : limit,
      windowMs,
      ...counting,
    ],
  }
}

/** Returns the cell of a request with choices of a model; `undefined` without any. */
export function choiceCell(
  tenant: string,
  subject: Subject,
  decision: Pick<Decision, 'allowed' | 'tried'>,
): CellId | undefined {
  const models = modelsOf(decision, subject)
  if (models.length === 0) return undefined
  const policy = decision.tried?.[0]?.violated?.name ?? ''
  return { family: 'c', parts: [tenant, text(subject.route), ...models.map(text), policy] }
}

/**
 * Returns how cells of a kind are compared: by dollars, if the limiter counts any, else by requests; and policies with
 * those of the same name only. `undefined` for estimates, which must not be forgotten while their wait lasts.
 */
export function rankOf(
  { family, parts }: CellId,
  hasDollars: boolean,
): { readonly by: number; readonly pool: string } | undefined {
  if (family === 'e' || parts.length === 0) return undefined
  if (family !== 'p') return { by: family === 'a' && hasDollars ? 2 : 0, pool: '' }
  const [, , policy, per, unit] = parts
  return {
    by: unit === 'usd' ? 1 : 0,
    pool: `,${JSON.stringify([policy, per, unit]).slice(1, -1)},`,
  }
}

/** Returns the cost of a decision by unit: the largest if policies of one unit differ. */
export function costOf({ policies }: Decision): UnitAmounts {
  const amounts: Record<string, number> = {}
  for (const { unit, cost } of policies) amounts[unit] = Math.max(amounts[unit] ?? 0, cost)
  return amounts
}

/** Returns the tokens and the micro-dollars among units. */
export function tokensAndUsd(units: UnitAmounts): [tokens: number, usd: number] {
  const ofDirections = (units['input_token'] ?? 0) + (units['output_token'] ?? 0)
  return [units['token'] ?? ofDirections, units['usd'] ?? 0]
}
