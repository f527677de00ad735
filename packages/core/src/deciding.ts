import type { Verdict } from './algorithm.ts'
import type { Clock } from './clock.ts'
import type { LimiterConfiguration } from './configuration/configuration.ts'
import type { Cost } from './cost.ts'
import type { Decision, PlanSource, PolicyState, SkippedPolicy } from './decision.ts'
import type { Asked, PolicySettings } from './entries.ts'
import type { Hooks } from './hooks.ts'
import type { PlanSearch } from './plans/plan-search.ts'
import type { PlanLimits, Plans } from './plans/plans.ts'
import type { Policy } from './policy.ts'
import { unfitKeys, type StoreReply, type StoreRequest } from './store.ts'
import type { FallbackStore } from './stores/fallback.ts'
import type { Subject } from './subject.ts'
import type { WaitUntil, Watch } from './watch.ts'
import { costsOf } from './cost.ts'
import { decide, decideBlind } from './decision.ts'
import { entryOf, stateOf } from './entries.ts'
import { crossed } from './hooks.ts'
import { unknownPlan } from './plans/plans.ts'
import { randomId } from './random-id.ts'
import { chargesOf, holdOf, type ReservationData } from './reservation.ts'

/** What a limiter decides with. */
export interface Means {
  readonly policies: readonly Policy[]
  readonly store: FallbackStore
  /** Whole milliseconds. */
  readonly clock: Clock
  readonly clockIsInjected: boolean
  readonly plans: Plans | undefined
  readonly search: PlanSearch | undefined
  readonly configuration: LimiterConfiguration | undefined
  readonly hooks: Required<Hooks>
  readonly thresholds: readonly number[]
}

/** One question to a limiter. */
export interface Question {
  readonly subject: Subject
  readonly cost: Cost | undefined
  /** Whether to charge what fits. */
  readonly apply: boolean
  /** For how long a charge is to be settled, in milliseconds; 0 if it is final. */
  readonly settleWithinMs: number
  readonly waitUntil: WaitUntil | undefined
}

/** A decision, and what is needed to settle its charges. */
export interface Decided {
  readonly decision: Decision
  readonly reservation: ReservationData
}

/** Which plan applies to a subject now. */
interface PlanTerms {
  readonly plan: string | undefined
  readonly planSource: PlanSource | undefined
  readonly limits: PlanLimits
  readonly watch?: Watch | undefined
  readonly failed?: unknown
}

/** What applies to a subject now. */
interface Terms extends PlanTerms {
  readonly settings: (policy: Policy, partition: string) => PolicySettings | undefined
  readonly watches: readonly Watch[]
  /** How the store has just failed. */
  readonly failed: unknown
}

/** What came of asking the store once. */
interface Answer extends Decided {
  readonly counted: readonly Asked[]
  /** Whether each of these has been charged. */
  readonly charged: readonly boolean[]
  /** Whether it might be another decision by what has been read along with it. */
  readonly isOutdated: boolean
}

/** The limits of no plan. */
export const NO_PLAN: PlanLimits = Object.freeze(Object.create(null) as PlanLimits)

const noSettings = (): undefined => undefined

/** Makes the function that decides. */
export function decider(means: Means): (question: Question) => Promise<Decided> {
  const { policies, store, clock, clockIsInjected, plans, search } = means
  const { configuration, hooks, thresholds } = means

  async function planFor(subject: Subject, waitUntil: WaitUntil | undefined): Promise<PlanTerms> {
    if (plans === undefined) return { plan: undefined, planSource: undefined, limits: NO_PLAN }
    const given = subject.plan ?? undefined
    const own = given === undefined ? undefined : plans.get(given)
    if (own) return { plan: given, planSource: 'subject', limits: own }
    if (given !== undefined) hooks.problem(unknownPlan(given))
    const found = await search?.find(subject, waitUntil)
    const plan = found?.name ?? plans.defaultPlan
    const planSource = found?.source ?? 'default'
    return { ...found, plan, planSource, limits: plans.get(plan) ?? NO_PLAN }
  }

  async function termsFor(subject: Subject, waitUntil: WaitUntil | undefined): Promise<Terms> {
    const [plan, current] = await Promise.all([
      planFor(subject, waitUntil),
      configuration?.current(),
    ])
    return {
      ...plan,
      settings: current?.settings ?? noSettings,
      watches: [plan.watch, current?.watch].filter((watch) => watch !== undefined),
      failed: plan.failed ?? current?.failed,
    }
  }

  async function replyTo(request: StoreRequest, failed: unknown): Promise<StoreReply> {
    // Where there is nothing to count, nobody need be asked.
    if (request.entries.length + request.reads.length === 0) {
      return { now: request.now, verdicts: [], places: [], read: [] }
    }
    return failed === undefined ? store.check(request) : store.instead(request, failed)
  }

  async function answer(
    { subject, apply, settleWithinMs }: Question,
    costs: (unit: string) => number,
    { plan, planSource, limits, settings, watches, failed }: Terms,
  ): Promise<Answer> {
    const context = { plan: limits, route: subject.route, model: subject.model }
    const situation = { subject, context, plan, cost: costs, settings }
    const parts = await Promise.all(policies.map((policy) => entryOf(policy, situation)))
    const counted = parts.filter((part) => 'entry' in part)
    const id = randomId()
    const request = {
      id,
      hold: settleWithinMs > 0 ? holdOf(id, settleWithinMs, counted) : undefined,
      entries: counted.map(({ entry }) => entry),
      apply,
      now: clock(),
      clockIsInjected,
      reads: watches.map(({ read }) => read),
    }
    const reply = await replyTo(request, failed)
    const { now, verdicts, read, degraded } = reply
    const skipped = parts.filter((part): part is SkippedPolicy => !('entry' in part))
    const facts = { at: now, skipped, plan, planSource, degraded }
    if (degraded && degraded.mode !== 'local') {
      const decision = decideBlind(degraded.mode, facts)
      const reservation = { id, local: true, charges: [] }
      return { decision, reservation, counted: [], charged: [], isOutdated: false }
    }
    // Every one of them takes note.
    const news = degraded ? [] : watches.filter((watch, index) => watch.seen(read[index]))
    const isDenied = counted.some(({ entry }, index) => entry.enforced && !verdicts[index]?.fits)
    const unfit = unfitKeys(request.entries, verdicts)
    const charged = counted.map(({ entry }) => apply && !isDenied && !unfit.has(entry.key))
    const states = counted.map((part, index) =>
      stateOf(part, verdicts[index] as Verdict, charged[index] === true),
    )
    const charges = chargesOf(counted, reply, charged)
    return {
      decision: decide(states, facts),
      reservation: { id, local: degraded !== undefined, charges },
      counted,
      charged,
      isOutdated: news.length > 0,
    }
  }

  function report(subject: Subject, { decision, counted, charged }: Answer): void {
    decision.policies.forEach((policy: PolicyState, index) => {
      if (!policy.fits && !policy.enforced) hooks.shadowDenial({ policy, subject })
      const most = counted[index]?.entry.burst
      if (!charged[index] || most === undefined) return
      for (const threshold of crossed(most, policy, thresholds)) {
        hooks.threshold({ policy, subject, threshold })
      }
    })
  }

  return async (question) => {
    const { subject, cost, apply, waitUntil } = question
    const costs = costsOf(cost, policies)
    const ask = async (): Promise<Answer> =>
      answer(question, costs, await termsFor(subject, waitUntil))
    const first = await ask()
    // What was denied was charged nowhere, so it can be asked again; what was allowed stands.
    const second = first.isOutdated && !first.decision.allowed ? await ask() : undefined
    const last = second && !second.decision.degraded ? second : first
    if (apply) report(subject, last)
    return last
  }
}
