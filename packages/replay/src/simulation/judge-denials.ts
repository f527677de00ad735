import type { Call } from '../call.ts'
import type { PolicySet } from './policy-set.ts'
import { createTwin } from './twin.ts'

/** A denial as `recordDenials` of `@sluice/usage/denials` keeps it, without what is not needed here. */
export interface PastDenial {
  /** The time of the decision, in epoch ms. */
  readonly at: number
  /** The subject of the request, without its tenant. */
  readonly subject: Readonly<Record<string, string>>
  readonly plan?: string | undefined
  readonly policies: readonly {
    readonly name: string
    readonly unit: string
    readonly burst: number
    readonly remaining: number
    readonly cost: number
    readonly fits: boolean
    readonly enforced: boolean
  }[]
}

/** A denial, and what another set of limits decides. */
export interface JudgedDenial<D extends PastDenial> {
  readonly denial: D
  /** The policy that denies it, too; `undefined` if it is allowed. */
  readonly by: string | undefined
}

/** A call that would have been let in. */
interface Admitted {
  readonly at: number
  readonly cost: number
}

/**
 * Decides recorded denials of a tenant by a set of limits, in the order of their times: by what was used when each was
 * denied, and by those before it that are let in. A denial by a policy that cannot be replayed stays one.
 *
 * @throws ConfigError When the set has settings that are invalid.
 * @example
 * const judged = await judgeDenials('acme', await listDenials(limiter, 'acme'), policySet('new', { limiter, configuration }))
 */
export async function judgeDenials<D extends PastDenial>(
  tenant: string,
  denials: readonly D[],
  { rules, plans, configuration, omitted }: PolicySet,
): Promise<JudgedDenial<D>[]> {
  const twin = createTwin(rules, plans, configuration)
  const admitted = new Map<string, Admitted[]>()
  const none = Object.fromEntries(rules.map(({ unit }) => [unit, 0]))
  const judged: JudgedDenial<D>[] = []
  for (const denial of denials.toSorted((a, b) => a.at - b.at)) {
    const { at, subject, plan, policies } = denial
    const units = { ...none, ...Object.fromEntries(policies.map(({ unit, cost }) => [unit, cost])) }
    const call: Call = {
      at,
      line: 0,
      subject: { ...subject, tenant, ...(plan !== undefined && { plan }) },
      units,
      status: undefined,
    }
    // What a limit is now: the counts of the denial are its own.
    const states = (await twin.peek(call, units['usd'])).policies.map((state) => {
      const then = policies.find(({ name }) => name === state.name)
      const { per } = rules.find(({ name }) => name === state.name) ?? {}
      const key = `${state.name} ${per === 'global' ? '' : JSON.stringify(per?.map((name) => call.subject[name as 'tenant']))}`
      const lately = (admitted.get(key) ?? []).filter((one) => one.at > at - state.windowMs)
      const used = then === undefined ? 0 : then.burst - then.remaining
      const cost = then?.cost ?? state.cost
      const sum = lately.reduce((total, one) => total + one.cost, used + cost)
      return { key, lately, cost, name: state.name, denies: state.enforced && sum > state.burst }
    })
    const unknown = policies.find(
      ({ name, enforced, fits }) =>
        enforced && !fits && omitted.some((policy) => policy.name === name),
    )
    const by = unknown?.name ?? states.find(({ denies }) => denies)?.name
    judged.push({ denial, by })
    if (by !== undefined) continue
    for (const { key, lately, cost } of states) admitted.set(key, [...lately, { at, cost }])
  }
  return judged
}
