import type { Scenario } from './scenario.ts'
import { cpuScenario } from './cpu.ts'
import { deniedFloodScenario } from './denied-flood.ts'
import { inFlightScenario } from './in-flight.ts'
import { leasesScenario } from './leases.ts'
import { memoryScenario } from './memory.ts'
import { meterScenario } from './meter.ts'
import { scriptScenario } from './script.ts'
import { sequentialScenario } from './sequential.ts'

/** All scenarios, in the order in which they run. */
export const SCENARIOS: readonly Scenario[] = [
  sequentialScenario,
  inFlightScenario,
  scriptScenario,
  cpuScenario,
  memoryScenario,
  deniedFloodScenario,
  leasesScenario,
  meterScenario,
]
