import { codeOf } from './code.ts'
import { readTexts } from './fields.ts'
import { refused, withIssues } from './issue.ts'
import { createProgram, planOf, type Plan } from './program.ts'
import type { Run } from './recording.ts'
import { run, type Use } from './run.ts'
import { readSeed, USE_FIELDS, type Scenario } from './scenario.ts'
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

/** Reads a scenario. `pause` is called now and then, as in `run`. @throws Issue Names the field at fault. */
export async function prepare(scenario: Scenario, pause?: () => Promise<void>): Promise<Ready> {
  const seed = await withIssues('seed', {}, () => readSeed(scenario.seed))
  const plan = await planOf(scenario)
  const use = await withIssues('use', USE_FIELDS, () => useOf(scenario, plan))
  const { fields, make }: TrafficKind = TRAFFIC_KINDS[scenario.traffic.kind]
  const traffic = await withIssues('traffic', fields, () =>
    make(readTexts('traffic', fields, scenario.traffic.texts), seed, pause),
  )
  // A limiter refuses policies that do not go together.
  await withIssues('policies', {}, () => createProgram(plan, traffic.startMs))
  return { plan, traffic: charged(traffic, plan), use, code: codeOf(plan, traffic.startMs) }
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

const COLUMNS: Readonly<Record<string, string>> = {
  usd: '"cost", or "model", "input" and "output"',
  token: '"tokens", or "input" and "output"',
}

/** Charges each request of a log the units that policies count, as a replay does. */
function charged(traffic: Traffic, { units }: Plan): Traffic {
  const arrivals = traffic.arrivals.map((arrival) => {
    const { used } = arrival
    if (!used) return arrival
    const counted = units.map((unit): [string, number] => [unit, used[unit] ?? missing(unit)])
    return { ...arrival, used: Object.fromEntries(counted) }
  })
  return { ...traffic, arrivals, unpriced: units.includes('usd') ? traffic.unpriced : 0 }
}

function missing(unit: string): never {
  const columns = COLUMNS[unit] ?? `"${unit}"`
  throw refused('traffic.log', 'log', `must have ${columns}: a policy counts them`)
}
