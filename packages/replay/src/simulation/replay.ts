import { invalidOption } from '@sluice/core/internal'
import type { Decision } from '@sluice/core'
import type { Call } from '../call.ts'
import { assertOpeningBalance, tenantsOf, type OpeningBalance } from './opening-balances.ts'
import { withCredits, type PolicySet } from './policy-set.ts'
import type { ComparedSets, Comparison, Replay } from './report-types.ts'
import { LIST_PRICES, type Prices } from '@sluice/ai'
import { SUSTAINED } from './demand.ts'
import { createLogTally } from './log-tally.ts'
import { createRecorder } from './recorder.ts'
import { createPolicyTallies } from './policy-tallies.ts'
import { createTwin, type Twin } from './twin.ts'
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
  /**
   * The units that each balance of `credits` begins with, before its first call, such as `usd(50)`; or those of each tenant, such as
   * `{ acme: usd(50) }`, of which others begin with 0. The allowance of a plan comes on top; nothing is granted later.
   * @default policies of `credits` are left out
   */
  readonly openingBalance?: OpeningBalance | undefined
  /** Receives each denial. */
  readonly onDenied?: ((denial: Denial) => void) | undefined
}

/**
 * Decides the calls of a log by one or two sets of limits, at the times of the log and in memory. A denied
 * call is not sent again.
 *
 * @param calls In the order of their times, as `openLog` reads them.
 * @throws ConfigError When the log lacks a dimension or a unit that a policy counts, or an option is out of range.
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
  const { except, onDenied, openingBalance } = options
  if (openingBalance !== undefined) assertOpeningBalance(openingBalance)
  const prices = options.prices ?? sets[0]?.prices ?? LIST_PRICES
  const parts = sets
    .map((set) => (openingBalance === undefined ? set : withCredits(set)))
    .map((set) => ({
      set,
      twin: twinOf(set, openingBalance),
      recorder: createRecorder(set, openingBalance),
    }))
  const log = createLogTally()
  const pairs = noPairs()
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
    unopened: tenantsOf(openingBalance).filter((tenant) => !log.has(tenant)),
    sets: parts.map(({ recorder }) => recorder.report(log.spanMs(), isNormal)),
    comparison: sets.length === 2 ? pairs : undefined,
  }
}

/** Options of `compare`. */
export interface CompareOptions extends Pick<ReplayOptions, 'prices' | 'onDenied'> {
  /** Receives each call, before it is decided. */
  readonly onCall?: ((call: Call) => void) | undefined
}

/**
 * Decides the calls of a log by two sets of limits, as `replay` does, and reports only what differs: it takes less time.
 *
 * @param calls In the order of their times, as `openLog` reads them.
 * @throws ConfigError When the log lacks a dimension or a unit that a policy counts.
 * @example
 * const { comparison } = await compare(log.calls(), [policySet('now', now), policySet('then', then)])
 * console.log(comparison.onlySecondDenies)
 */
export async function compare(
  calls: AsyncIterable<Call>,
  sets: readonly [first: PolicySet, second: PolicySet],
  options: CompareOptions = {},
): Promise<ComparedSets> {
  const { onCall, onDenied } = options
  const prices = options.prices ?? sets[0].prices ?? LIST_PRICES
  const [first, second] = sets.map((set) => twinOf(set)) as [Twin, Twin]
  const log = createLogTally()
  const policies = createPolicyTallies(sets[1].rules)
  const pairs = noPairs()
  for await (const call of calls) {
    const usd = dollarsOf(call, prices)
    log.add(call, usd)
    onCall?.(call)
    const before = await first.check(call, usd)
    const after = await second.check(call, usd)
    policies.add(call, after)
    pairs[pairOf([before.allowed, after.allowed])] += 1
    if (!onDenied) continue
    const denial = { call, usd: usd ?? 0 }
    if (!before.allowed) onDenied({ ...denial, set: sets[0].name, decision: before })
    if (!after.allowed) onDenied({ ...denial, set: sets[1].name, decision: after })
  }
  return {
    log: log.read(),
    comparison: pairs,
    policies: policies.report(),
    commands: [first.commands(), second.commands()],
  }
}

/** @throws ConfigError When the set has no policy that can be replayed. */
function twinOf(
  { rules, omitted, plans, configuration }: PolicySet,
  opening?: OpeningBalance,
): Twin {
  if (rules.length > 0) return createTwin(rules, plans, configuration, opening)
  const reasons = omitted.map(({ name, reason }) => `${name}: ${reason}`).join('; ')
  throw invalidOption('policies', `must have a policy that can be replayed (${reasons})`)
}

type Pairs = { -readonly [Name in keyof Comparison]: Comparison[Name] }

const noPairs = (): Pairs => ({
  bothAllow: 0,
  bothDeny: 0,
  onlyFirstDenies: 0,
  onlySecondDenies: 0,
})

function pairOf([first, second = first]: readonly boolean[]): keyof Comparison {
  if (first === second) return first ? 'bothAllow' : 'bothDeny'
  return first ? 'onlySecondDenies' : 'onlyFirstDenies'
}
