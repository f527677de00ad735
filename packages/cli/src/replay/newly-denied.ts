/* The calls that one set of limits denies and another one allows. */
import type { Denial } from '@sluice/replay'
import { createRoom } from './room.ts'

interface Sum {
  calls: number
  tokens: number
  usd: number
}

/** A tenant of which calls are denied that were allowed before. */
interface NewlyDenied extends Readonly<Sum> {
  readonly tenant: string
  /** The policy that denies most of them. */
  readonly policy: string
  /** The first of them, ISO 8601. */
  readonly since: string
}

/** The calls that a change of limits denies, and that were allowed before. */
export interface NewDenials extends Readonly<Sum> {
  /** Of these calls, the least number for which every policy in dollars has room, one after another. */
  readonly covered: number
  /** The tenants, those with the most of these calls first. */
  readonly tenants: readonly NewlyDenied[]
}

const NOTHING: Readonly<Sum> = { calls: 0, tokens: 0, usd: 0 }

interface Tally extends Sum {
  readonly policies: Map<string, number>
  readonly since: number
}

/** Collects denials of two sets, of which the first is asked first about each call. */
export function collectNewDenials(first: string): {
  add(denial: Denial): void
  read(): NewDenials
} {
  const room = createRoom()
  const all = { ...NOTHING, covered: 0 }
  const tenants = new Map<string, Tally>()
  let denied: Denial['call'] | undefined
  return {
    add({ call, set, decision, usd }) {
      if (set === first) {
        denied = call
        return
      }
      if (denied === call) return
      const { tenant } = call.subject
      const tally = tenants.get(tenant) ?? { ...NOTHING, policies: new Map(), since: call.at }
      tenants.set(tenant, tally)
      for (const sum of [all, tally]) {
        sum.calls += 1
        sum.tokens += call.units['token'] ?? 0
        sum.usd += usd
      }
      const name = decision.violated?.name ?? decision.reason
      tally.policies.set(name, (tally.policies.get(name) ?? 0) + 1)
      if (room.take(call, decision.policies)) all.covered += 1
    },
    read: () => ({
      ...all,
      tenants: Array.from(tenants, ([tenant, tally]) => tenantOf(tenant, tally)).toSorted(
        (a, b) => b.calls - a.calls,
      ),
    }),
  }
}

function tenantOf(tenant: string, { policies, since, calls, tokens, usd }: Tally): NewlyDenied {
  const [[policy] = ['']] = [...policies].toSorted(([, a], [, b]) => b - a)
  return { tenant, calls, tokens, usd, policy, since: new Date(since).toJSON() }
}
