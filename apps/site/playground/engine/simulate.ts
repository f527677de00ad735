import { codeOf } from './code.ts'
import { readTexts } from './fields.ts'
import { withIssues } from './issue.ts'
import { createProgram, planOf, type Plan } from './program.ts'
import type { Run } from './recording.ts'
import { run, type Use } from './run.ts'
import { USE_FIELDS, type Scenario } from './scenario.ts'
import type { Traffic } from './arrivals.ts'
import { TRAFFIC_KINDS, type TrafficKind } from './traffic.ts'

/** A scenario that is ready to run: each field was read. */
export interface Ready {
  readonly plan: Plan
  readonly traffic: Traffic
  readonly use: Use
  /** The code that decides. */
  readonly code: string
}

/** Reads a scenario. @throws Issue Names the field at fault. */
export async function prepare(scenario: Scenario): Promise<Ready> {
  const plan = await planOf(scenario)
  const use = await withIssues('use', USE_FIELDS, () => useOf(scenario, plan))
  const { fields, make }: TrafficKind = TRAFFIC_KINDS[scenario.traffic.kind]
  const traffic = await withIssues('traffic', fields, () =>
    make(readTexts('traffic', fields, scenario.traffic.texts), scenario.seed),
  )
  // A limiter refuses policies that do not go together.
  await withIssues('policies', {}, () => createProgram(plan, traffic.startMs))
  return { plan, traffic: countedOnly(traffic, plan), use, code: codeOf(plan, traffic.startMs) }
}

/** Runs a scenario on the limiter of its code. */
export const simulate = (
  { plan, traffic, use }: Ready,
  pause?: () => Promise<void>,
): Promise<Run> => run(createProgram(plan, traffic.startMs), traffic, use, pause)

function useOf({ use }: Scenario, { units }: Plan): Use {
  const values = readTexts('use', USE_FIELDS, use)
  const counted = (token: number, usd: number): Record<string, number> =>
    Object.fromEntries(Object.entries({ token, usd }).filter(([unit]) => units.includes(unit)))
  return {
    estimated: counted(values.estimatedTokens, values.estimatedDollars),
    used: counted(values.usedTokens, values.usedDollars),
    lastsMs: values.seconds * 1_000,
  }
}

/** Leaves out units that a log has and no policy counts. */
const countedOnly = (traffic: Traffic, { units }: Plan): Traffic => ({
  ...traffic,
  arrivals: traffic.arrivals.map((arrival) => {
    if (!arrival.used) return arrival
    const used = Object.entries(arrival.used).filter(([unit]) => units.includes(unit))
    return { ...arrival, used: Object.fromEntries(used) }
  }),
})
