import type { Scenario } from './scenario'
import { resetTenants } from '../development/reset'
import { setStoreDown } from '../development/store-switch'
import { createTraffic, type RunResult } from './traffic'

const shared = globalThis as { sluiceDemoIsRunning?: boolean }

/** The longest time that a scenario may take. */
const TIMEOUT_MS = 120_000

/** Returns true while a scenario runs. */
export const isRunning = (): boolean => shared.sluiceDemoIsRunning ?? false

/**
 * Runs a scenario whose tenants begin with all their budgets. Only one runs at a time. Rejects when it is
 * aborted.
 */
export async function runScenario(
  scenario: Scenario,
  origin: string,
  aborted: AbortSignal,
): Promise<RunResult> {
  shared.sluiceDemoIsRunning = true
  const signal = AbortSignal.any([aborted, AbortSignal.timeout(TIMEOUT_MS)])
  const { traffic, result } = createTraffic(origin, signal)
  try {
    await resetTenants(scenario.tenants)
    await scenario.run(traffic)
    return result
  } finally {
    // An aborted run may have left it down.
    if (process.env['DEMO_STORE_SWITCH']) await setStoreDown(false)
    shared.sluiceDemoIsRunning = false
  }
}
