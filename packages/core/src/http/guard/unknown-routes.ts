import type { Decision } from '../../decision.ts'
import type { Limiter } from '../../limiter/limiter.ts'
import { findRuntime } from '../../limiter/runtime.ts'
import { routeIds } from '../../internal/route-ids.ts'

/**
 * Warns of each id in the `routes` of a policy that no adapter of this process has, once. Does so at a
 * decision that a policy has skipped, when all adapters exist.
 */
export function warnOfUnknownRoutes(limiter: Limiter, { skipped }: Decision): void {
  // Without an adapter that lists its routes, nothing is known about ids.
  if (skipped.length === 0 || routeIds.size === 0) return
  for (const { name, routes = [] } of findRuntime(limiter)?.program.policies ?? []) {
    for (const id of routes) {
      if (routeIds.has(id)) continue
      console.warn(
        `Sluice: policies.${name}.routes: no adapter has "${id}"; known: ${[...routeIds].join()}`,
      )
      routeIds.add(id)
    }
  }
}
