import type { PolicyView, Tick, View } from '../view.ts'

const KEPT_MS = { seconds: 300_000, minutes: 180 * 60_000 }

export function mergeView(view: View, update: View): View {
  const tenants = new Map(view.tenants.map((tenant) => [tenant.tenant, tenant]))
  for (const tenant of update.tenants) tenants.set(tenant.tenant, tenant)
  return {
    ...update,
    tenants: update.isWholeList ? update.tenants : [...tenants.values()],
    isWholeList: true,
    seconds: mergeTicks(view.seconds, update.seconds, update.now - KEPT_MS.seconds),
    minutes: mergeTicks(view.minutes, update.minutes, update.now - KEPT_MS.minutes),
  }
}

/** A tick that comes again is complete, and replaces the one before. */
function mergeTicks(ticks: readonly Tick[], changed: readonly Tick[], oldest: number): Tick[] {
  const from = changed[0]?.at ?? Infinity
  const kept = ticks.filter(({ at }) => at > oldest && at < from)
  return [...kept, ...changed]
}

/** Returns the units that are left at `now`: all of them, once nothing that was counted counts any more. */
export const leftAt = ({ remaining, limit, freshAt, unit }: PolicyView, now: number): number =>
  // Calls end by themselves only at the end of the longest time that one may take.
  now >= freshAt && unit !== 'call' ? limit : remaining
