import type { DesiredEntry } from '@sluice/core/configuration'
import type { Call } from '../call.ts'
import type { PolicySet } from '../simulation/policy-set.ts'
import type { SetReport } from '../simulation/report-types.ts'
import { LIST_PRICES, type Prices } from '@sluice/ai'
import { replay } from '../simulation/replay.ts'
import { dollarsOf } from '../simulation/units-of-call.ts'
import { withSettings } from './limit-settings.ts'
import { createProbe, sourceOf, targetKey, withLimit, type Probe } from './probe.ts'
import { nextTrial, type LimitSource } from './target.ts'

/** The smallest limit of a policy that denies nobody who must not be denied. */
export interface SuggestedLimit {
  readonly policy: string
  readonly unit: string
  /** The plan that the limit is for, if the limits have plans and no setting sets it. */
  readonly plan: string | undefined
  /** The setting that sets the limit, for a partition or for everyone; `undefined` if it is that of the code. */
  readonly setting: { readonly subject: DesiredEntry['subject'] } | undefined
  /** The limit today. */
  readonly current: number
  /** `undefined` if no limit suffices: the burst of a bucket is too small. */
  readonly limit: number | undefined
  /** True if every lower limit is known to deny somebody. */
  readonly isSmallest: boolean
  /** The call that a lower limit denies; `undefined` for a limit of 0. */
  readonly heldBy:
    { readonly tenant: string; readonly line: number; readonly at: string } | undefined
}

/** The smallest limits, and what they do together. */
export interface Suggestion {
  readonly limits: readonly SuggestedLimit[]
  /** Tenants of `except` that have no call. */
  readonly absent: readonly string[]
  /** True if the calls of the log are sums that were spread evenly. */
  readonly isSpread: boolean
  /** The times that the log was read to find them. */
  readonly readings: number
  /** A replay through all of them. */
  readonly outcome: SetReport
}

/** Options of `suggestLimits`. */
export interface SuggestOptions {
  /** Tenants that may be denied. @default none */
  readonly except?: readonly string[] | undefined
  /** The prices of calls whose cost the log does not state. @default those of the set, else `LIST_PRICES` */
  readonly prices?: Prices | undefined
  /** The `spreadMs` of the log, of which the notes tell. @default each row is a call */
  readonly spreadMs?: number | undefined
}

/**
 * Finds the smallest limit of each policy and plan that denies no call but those of `except`. The search is
 * exact: the limit suffices for the whole log, and one less was tried and denies somebody. It reads the log
 * three times for most policies, and some 20 times for buckets, whose contents depend on the limit.
 *
 * @param read Returns the calls of the log, each time from its beginning.
 * @throws ConfigError When the log lacks a dimension or a unit that a policy counts.
 * @example
 * const log = await openLog('requests.csv')
 * const { limits } = await suggestLimits(() => log.calls(), set, { except: ['scraper'] })
 */
export async function suggestLimits(
  read: () => AsyncIterable<Call>,
  set: PolicySet,
  options: SuggestOptions = {},
): Promise<Suggestion> {
  const { except = [] } = options
  const prices = options.prices ?? set.prices ?? LIST_PRICES
  const probes = set.rules.map((rule) => createProbe(rule, set, except.length > 0))
  let [unfinished, readings] = [probes, 0]
  while (unfinished.length > 0) {
    readings += 1
    for (const probe of unfinished) probe.start()
    for await (const call of read()) {
      const usd = dollarsOf(call, prices)
      const mayBeDenied = except.includes(call.subject.tenant)
      for (const probe of unfinished) await probe.add(call, usd, mayBeDenied)
    }
    unfinished = unfinished.filter(({ rule, targets, isShared }) => {
      const open = [...targets.values()].filter((target) =>
        nextTrial(target, rule.maxUnits, isShared),
      )
      return open.some(({ isUsed }) => isUsed)
    })
  }
  const { sets, absent } = await replay(read(), [suggestedSet(set, probes)], { except, prices })
  return {
    limits: probes.flatMap((probe) => limitsOf(probe)),
    absent,
    isSpread: options.spreadMs !== undefined,
    readings: readings + 1,
    outcome: sets[0] as SetReport,
  }
}

/** Returns the limit that was found, or the current one if nothing is known. */
function found({ targets }: Probe, source: LimitSource, current: number): number {
  const target = targets.get(targetKey(source, current))
  return target?.isUsed ? (target.high ?? current) : current
}

/** The set with the limits that were found; those of which nothing is known stay as they are. */
function suggestedSet(set: PolicySet, probes: readonly Probe[]): PolicySet {
  const rules = probes.map((probe) =>
    withLimit(probe.rule, (current, context) =>
      found(probe, sourceOf(undefined, set.plans, context), current),
    ),
  )
  const configuration = set.configuration?.flatMap((setting) => {
    const probe = probes.find(({ rule }) => rule.name === setting.policy)
    const { limit } = setting.settings
    return withSettings(
      setting,
      probe && typeof limit === 'number'
        ? found(probe, { setting, plan: undefined }, limit)
        : limit,
    )
  })
  return { ...set, name: 'suggested limits', rules, configuration }
}

function limitsOf({ rule, targets, isShared }: Probe): SuggestedLimit[] {
  return [...targets.values()]
    .filter(({ isUsed }) => isUsed)
    .map(({ plan, setting, current, low, high, heldBy }) => ({
      policy: rule.name,
      unit: rule.unit,
      plan,
      setting: setting && { subject: setting.subject },
      current,
      limit: high,
      isSmallest: !isShared && high !== undefined && low === high - 1,
      heldBy: heldBy && heldByOf(heldBy),
    }))
}

const heldByOf = ({ subject, line, at }: Call): SuggestedLimit['heldBy'] => ({
  tenant: subject.tenant,
  line,
  at: new Date(at).toISOString(),
})
