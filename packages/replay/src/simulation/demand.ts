import type { Decision, PolicyRule } from '@sluice/core'
import type { Call } from '../call.ts'

/** The use of one tenant in one partition of a policy. */
interface Demand {
  readonly tenant: string
  readonly windowMs: number
  units: number
  limit: number
  burst: number
}

/** The definition of a normal tenant, as reports state it. */
export const SUSTAINED: string =
  'A tenant is normal if, in every policy, its own use over the whole log is at most the limit times ' +
  'the windows that the log has (its length divided by the window, rounded down, plus one).'

/** Collects what tenants asked for, allowed or not, to tell those within their limits from others. */
export interface DemandCollector {
  add(call: Call, decision: Decision): void
  /** The partitions, by policy and tenant. */
  readonly partitions: number
  /** Returns the tenants that asked for more than their limits sustain over `spanMs`. */
  excessive(spanMs: number): Set<string>
}

/** Creates an empty collector. */
export function collectDemand(rules: readonly PolicyRule[]): DemandCollector {
  const demands = new Map<string, Demand>()
  // A balance has no window, so nothing says which use of it is normal.
  const limited = rules.filter(({ balance }) => !balance)
  const dimensions = new Map(
    limited.map(({ name, per }) => [
      name,
      per === 'global' ? [] : per.filter((one) => one !== 'tenant'),
    ]),
  )

  function keyOf(name: string, { subject }: Call): string {
    let key = `${name}\n${subject.tenant}`
    for (const dimension of dimensions.get(name) ?? []) {
      key += `\n${(subject as Readonly<Record<string, string | undefined>>)[dimension]}`
    }
    return key
  }

  return {
    add(call, { policies }) {
      for (const { name, cost, limit, burst, windowMs } of policies) {
        if (!dimensions.has(name)) continue
        const key = keyOf(name, call)
        const demand = demands.get(key)
        if (demand === undefined) {
          demands.set(key, { tenant: call.subject.tenant, windowMs, units: cost, limit, burst })
          continue
        }
        demand.units += cost
        if (limit > demand.limit) demand.limit = limit
        if (burst > demand.burst) demand.burst = burst
      }
    },
    get partitions() {
      return demands.size
    },
    excessive(spanMs) {
      const tenants = new Set<string>()
      for (const { tenant, windowMs, units, limit, burst } of demands.values()) {
        const windows = Math.floor(spanMs / windowMs) + 1
        const sustained = Math.max(burst, limit * windows)
        if (units > sustained) tenants.add(tenant)
      }
      return tenants
    },
  }
}
