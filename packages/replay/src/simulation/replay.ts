import type { Prices } from '@sluice/ai'
import type { Decision } from '@sluice/core'
import type { Call } from '../call.ts'
import type { PolicySet } from './policy-set.ts'
import type { Comparison, Replay } from './report-types.ts'
import { LIST_PRICES } from '@sluice/ai'
import { optionError } from '../option-error.ts'
import { SUSTAINED } from './demand.ts'
import { createLogTally } from './log-tally.ts'
import { createRecorder } from './recorder.ts'
import { createTwin } from './twin.ts'
import { dollarsOf } from './units-of-call.ts'

/** A call that a set of limits denies. */
export interface Denial {
  readonly call: Call
  /** The name of the set. */
  readonly set: string
  readonly decision: Extract<Decision, { allowed: false }>
  /** The cost of the call, in micro-dollars; 0 if neither the log nor a price tells. */
  readonly usd: number
}

/** Options of `replay`. */
export interface ReplayOptions {
  /** The prices of calls whose cost the log does not tell. @default those of the first set, else `LIST_PRICES` */
  readonly prices?: Prices | undefined
  /** Tenants that may be denied. All others count as normal. @default tenants are judged by their use */
  readonly except?: readonly string[] | undefined
  /** Receives each denial. */
  readonly onDenied?: ((denial: Denial) => void) | undefined
}

/**
 * Decides the calls of a log by one or two sets of limits, at the times of the log and in memory. A denied
 * call is not sent again.
 *
 * @param calls In the order of their times, as `openLog` reads them.
 * @throws ConfigError When the log lacks a dimension or a unit that a policy counts.
 * @example
 * const log = await openLog('requests.csv')
 * const { sets } = await replay(log.calls(), [policySet('limits', { limiter })])
 * console.log(sets[0]?.denied.calls)
 */
export async function replay(
  calls: AsyncIterable<Call>,
  sets: readonly PolicySet[],
  options: ReplayOptions = {},
): Promise<Replay> {
  const { except, onDenied } = options
  const prices = options.prices ?? sets[0]?.prices ?? LIST_PRICES
  const parts = sets.map((set) => {
    if (set.rules.length > 0) {
      return {
        set,
        twin: createTwin(set.rules, set.plans, set.configuration),
        recorder: createRecorder(set),
      }
    }
    const reasons = set.omitted.map(({ name, reason }) => `${name}: ${reason}`).join('; ')
    throw optionError('policies', `must have a policy that can be replayed (${reasons})`)
  })
  const log = createLogTally()
  const pairs = { bothAllow: 0, bothDeny: 0, onlyFirstDenies: 0, onlySecondDenies: 0 }
  for await (const call of calls) {
    const usd = dollarsOf(call, prices)
    log.add(call, usd)
    const allowed: boolean[] = []
    for (const { set, twin, recorder } of parts) {
      const decision = await twin.check(call, usd)
      recorder.add(call, usd ?? 0, decision)
      allowed.push(decision.allowed)
      if (!decision.allowed) onDenied?.({ call, set: set.name, decision, usd: usd ?? 0 })
    }
    pairs[pairOf(allowed)] += 1
  }
  const isNormal = except && ((tenant: string) => !except.includes(tenant))
  return {
    log: log.read(),
    normal: isNormal ? `Every tenant is normal except ${except.join(', ')}.` : SUSTAINED,
    absent: (except ?? []).filter((tenant) => !log.has(tenant)),
    sets: parts.map(({ recorder }) => recorder.report(log.spanMs(), isNormal)),
    comparison: sets.length === 2 ? pairs : undefined,
  }
}

function pairOf([first, second = first]: readonly boolean[]): keyof Comparison {
  if (first === second) return first ? 'bothAllow' : 'bothDeny'
  return first ? 'onlySecondDenies' : 'onlyFirstDenies'
}
