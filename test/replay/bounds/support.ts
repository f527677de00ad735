/* The truth about a change of settings, and the bounds of it, of hourly sums. */
import type { Policy } from '@sluice/core'
import type { DesiredEntry } from '@sluice/core/configuration'
import {
  boundDenials,
  policySet,
  replay,
  type Call,
  type ChangeBounds,
  type DenialBounds,
} from '@sluice/replay'
import { HOUR, streamOf, sumsOf, TENANTS } from '../month.ts'

interface Amount {
  calls: number
  usd: number
}

export type Settings = readonly DesiredEntry[]

export type Amounts = ReadonlyMap<string, Amount>

/** Returns the calls of each tenant that only one of two settings denies. */
export async function truthOf(
  calls: readonly Call[],
  policies: readonly Policy[],
  settings: readonly [Settings, Settings],
): Promise<{ newlyDenied: Amounts; nowAllowed: Amounts }> {
  const denied = { before: new Map<number, Call>(), after: new Map<number, Call>() }
  const names = ['before', 'after'] as const
  const sets = settings.map((configuration, index) =>
    policySet(names[index] ?? '', { policies, configuration }),
  )
  await replay(streamOf(calls), sets, {
    onDenied: ({ call, set }) => denied[set as 'before' | 'after'].set(call.line, call),
  })
  return {
    newlyDenied: amountsOf(denied.after, denied.before),
    nowAllowed: amountsOf(denied.before, denied.after),
  }
}

/** Returns what is in the first calls and not in the others, by tenant. */
function amountsOf(calls: ReadonlyMap<number, Call>, others: ReadonlyMap<number, Call>): Amounts {
  const amounts = new Map<string, Amount>()
  for (const [line, { subject, units }] of calls) {
    if (others.has(line)) continue
    const own = amounts.get(subject.tenant) ?? { calls: 0, usd: 0 }
    own.calls += 1
    own.usd += units['usd'] ?? 0
    amounts.set(subject.tenant, own)
  }
  return amounts
}

export const boundsOf = (
  calls: readonly Call[],
  policies: readonly Policy[],
  settings: readonly [Settings, Settings],
): Promise<ChangeBounds> => {
  const [before, after] = settings.map((configuration) =>
    policySet('set', { policies, configuration }),
  ) as [ReturnType<typeof policySet>, ReturnType<typeof policySet>]
  return boundDenials(streamOf(sumsOf(calls)), HOUR, [before, after])
}

export const sumOf = (amounts: Amounts): Amount => {
  const sum = { calls: 0, usd: 0 }
  for (const { calls, usd } of amounts.values()) {
    sum.calls += calls
    sum.usd += usd
  }
  return sum
}

export const NOTHING = { least: 0, most: 0 }

/** Returns which bounds do not hold what was denied, of everyone and of each tenant. */
export function broken({ calls, usd, tenants }: DenialBounds, truth: Amounts): string[] {
  const all = sumOf(truth)
  const known = new Map(tenants.map((own) => [own.tenant, own]))
  const pairs = TENANTS.flatMap((tenant) => [
    [tenant, known.get(tenant)?.calls ?? NOTHING, truth.get(tenant)?.calls ?? 0] as const,
    [tenant, known.get(tenant)?.usd ?? NOTHING, truth.get(tenant)?.usd ?? 0] as const,
  ])
  return [['all', calls, all.calls] as const, ['all', usd, all.usd] as const, ...pairs]
    .filter(([, { least, most }, value]) => value < least || value > most)
    .map(([name, bounds, value]) => `${name}: ${value} in ${JSON.stringify(bounds)}`)
}

export const limited = (policy: string, limit: number, tenant?: string): Settings => [
  { policy, subject: tenant === undefined ? undefined : { tenant }, settings: { limit } },
]
