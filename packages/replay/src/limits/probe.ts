import type { LimitContext, PlanLimits, Plans, PolicyRule } from '@sluice/core'
import type { DesiredEntry } from '@sluice/core/configuration'
import type { Call } from '../call.ts'
import { entryOf } from '../groups.ts'
import type { PolicySet } from '../simulation/policy-set.ts'
import { createTwin, type Twin } from '../simulation/twin.ts'
import { limitSettings } from './limit-settings.ts'
import { createTarget, type LimitSource, type Target } from './target.ts'

/** Tries limits of one policy, which decides alone. */
export interface Probe {
  readonly rule: PolicyRule
  /** True if tenants that may be denied use up the budget of others. */
  readonly isShared: boolean
  readonly targets: ReadonlyMap<string, Target>
  /** Begins a reading of the log. */
  start(): void
  /** Decides a call. A limit that denies it is raised, or has failed. */
  add(call: Call, usd: number | undefined, mayBeDenied: boolean): Promise<void>
}

/** Creates a probe of a rule of this set. @param hasExceptions True if some tenants may be denied. */
export function createProbe(
  rule: PolicyRule,
  { plans, configuration }: PolicySet,
  hasExceptions: boolean,
): Probe {
  const targets = new Map<string, Target>()
  const settings = limitSettings(rule, configuration)
  /** The setting that the limit of this call is of. */
  let setting: DesiredEntry | undefined
  /** The target of the last decision. */
  let active: Target | undefined
  const rules = [
    withLimit(
      rule,
      (current, context) => {
        active = findTarget(targets, sourceOf(setting, plans, context), current)
        return active.trial
      },
      () => setting?.settings.limit,
    ),
  ]
  let twin: Twin

  return {
    rule,
    isShared: hasExceptions && (rule.per === 'global' || !rule.per.includes('tenant')),
    targets,
    start() {
      twin = createTwin(rules, plans, settings.others)
    },
    async add(call, usd, mayBeDenied) {
      active = undefined
      setting = settings.find(call.subject)
      const { allowed, policies } = await twin.check(call, usd)
      const target = active as Target | undefined
      if (target === undefined || mayBeDenied || policies.length === 0) return
      target.isUsed = true
      if (allowed || target.failedAt !== undefined) return
      target.heldBy = call
      const isRising = target.trial === target.high
      const least = isRising
        ? await leastThatFits(
            target,
            rule.maxUnits,
            async () => (await twin.peek(call, usd)).allowed,
          )
        : undefined
      if (least === undefined) {
        target.failedAt = target.trial
        if (target.high === undefined) return
        // Another plan may share its budget, and finds there what has to be let in.
        target.trial = target.high
      } else {
        target.trial = target.high = least
        target.wasRaised = true
      }
      await twin.check(call, usd)
    },
  }
}

/**
 * Returns the rule with other limits, enforced for all. `'unlimited'` stays.
 *
 * @param settingOf Returns the limit that a setting gives now, if any. @default none
 */
export function withLimit(
  rule: PolicyRule,
  limitFor: (current: number, context: LimitContext) => number,
  settingOf?: () => number | 'unlimited' | undefined,
): PolicyRule {
  const limit = (context: LimitContext): number | 'unlimited' => {
    const current =
      settingOf?.() ?? (typeof rule.limit === 'function' ? rule.limit(context) : rule.limit)
    return typeof current === 'number' ? limitFor(current, context) : 'unlimited'
  }
  return { ...rule, limit, mode: 'enforce', rollout: undefined, backpressure: undefined }
}

/** Returns where a limit comes from. */
export function sourceOf(
  setting: DesiredEntry | undefined,
  plans: Plans | undefined,
  { plan }: Pick<LimitContext, 'plan'>,
): LimitSource {
  if (setting) return { setting, plan: undefined }
  const name = plans?.names.find((one) => plans.get(one) === (plan as PlanLimits))
  return { setting: undefined, plan: name }
}

/** Identifies a target. */
export const targetKey = ({ setting, plan }: LimitSource, current: number): string =>
  setting ? JSON.stringify(setting.subject ?? null) : `${plan ?? ''} ${current}`

function findTarget(targets: Map<string, Target>, source: LimitSource, current: number): Target {
  return entryOf(targets, targetKey(source, current), () => createTarget(source, current))
}

/** Finds the least limit above the trial at which a call fits. The trial stays as it was if there is none. */
async function leastThatFits(
  target: Target,
  most: number,
  fits: () => Promise<boolean>,
): Promise<number | undefined> {
  const { trial } = target
  const fitsAt = (limit: number): Promise<boolean> => {
    target.trial = limit
    return fits()
  }
  let [low, high] = [trial, Math.min(most, Math.max(1, trial * 2))]
  while (!(await fitsAt(high))) {
    if (high === most) {
      target.trial = trial
      return undefined
    }
    low = high
    high = Math.min(most, high * 2)
  }
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2)
    if (await fitsAt(middle)) high = middle
    else low = middle
  }
  return high
}
