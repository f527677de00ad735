import type { Scenario } from './scenario.ts'
import { answersScenario } from './answers.ts'
import { bodiesScenario } from './bodies.ts'
import { cpuScenario } from './cpu.ts'
import { deniedFloodScenario } from './denied-flood.ts'
import { dollarsScenario } from './dollars.ts'
import { gatewayScenario } from './gateway.ts'
import { inFlightScenario } from './in-flight.ts'
import { leasesScenario } from './leases.ts'
import { memoryScenario } from './memory.ts'
import { meterScenario } from './meter.ts'
import { middlewareScenario } from './middleware.ts'
import { nextScenario } from './next.ts'
import { objectsScenario } from './objects.ts'
import { queueScenario } from './queue.ts'
import { scaleScenario } from './scale.ts'
import { scriptScenario } from './script.ts'
import { sharesScenario } from './shares.ts'
import { sequentialScenario } from './sequential.ts'
import { tcpScenario } from './tcp.ts'
import { workScenario } from './work.ts'

/** All scenarios, in the order in which they run. */
export const SCENARIOS: readonly Scenario[] = [
  sequentialScenario,
  inFlightScenario,
  tcpScenario,
  scaleScenario,
  scriptScenario,
  workScenario,
  sharesScenario,
  queueScenario,
  dollarsScenario,
  cpuScenario,
  memoryScenario,
  middlewareScenario,
  deniedFloodScenario,
  leasesScenario,
  objectsScenario,
  gatewayScenario,
  meterScenario,
  bodiesScenario,
  answersScenario,
  nextScenario,
]
