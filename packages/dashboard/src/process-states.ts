import type { DashboardState } from './state.ts'

const STATES = Symbol.for('sluice.dashboards')

/**
 * Returns the state of this name in the process, created by the first who asks. A bundler may load a module
 * twice, as Next.js does for `proxy.ts` and for routes: only globals are the same for both.
 */
export function processState(name: string, create: () => DashboardState): DashboardState {
  const shared = globalThis as { [STATES]?: Map<string, DashboardState> }
  const states = (shared[STATES] ??= new Map())
  const known = states.get(name)
  if (known) return known
  const created = create()
  states.set(name, created)
  return created
}
