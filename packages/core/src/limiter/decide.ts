import type { Cost } from '../cost.ts'
import type { Decision, PlanSource } from '../decision.ts'
import type { PlanLimits } from '../policies/plans.ts'
import type { RecordField, SettlementMark, StoreReply, StoreRequest } from '../stores/store.ts'
import type { WaitUntil } from '../internal/background.ts'
import type { Prepared, TrackedRecord } from './extensions.ts'
import type { EntryContext, ResolvedEntry, SettingsOf } from './resolve.ts'
import type { LimiterRuntime } from './runtime.ts'
import { systemClock } from '../clock.ts'
import { assertCost } from '../cost.ts'
import { randomId } from '../internal/random-id.ts'
import { digestsOf, hasLongValue, type Digests, type Subject } from '../subject.ts'
import { conclude } from './conclude.ts'
import { unknownPlan } from './problems.ts'
import { resolve } from './resolve.ts'

/** One call to a limiter. */
export interface LimiterCall {
  readonly subject: Subject
  readonly cost: Cost | undefined
  /** True to charge what fits. */
  readonly apply: boolean
  readonly waitUntil: WaitUntil | undefined
  /** Makes the mark that allows settling, if what is charged is an estimate. */
  readonly markFor?: (id: string, entries: readonly ResolvedEntry[]) => SettlementMark
}

/** A decision, with what it was made of. */
export interface Outcome {
  readonly id: string
  readonly decision: Decision
  readonly entries: readonly ResolvedEntry[]
  readonly reply: StoreReply
}

/** The limits of no plan. */
export const NO_PLAN: PlanLimits = Object.freeze(Object.create(null) as PlanLimits)

const NO_SETTINGS: readonly SettingsOf[] = []
const NO_READS: readonly TrackedRecord[] = []
const NO_FIELDS: readonly RecordField[] = []

/**
 * Decides: resolve, the store, conclude. What was denied by outdated records was charged nowhere, so it
 * is decided again; what was allowed stands.
 *
 * @throws InputError When the subject lacks a dimension or the cost is malformed.
 */
export async function decide(runtime: LimiterRuntime, call: LimiterCall): Promise<Outcome> {
  const { program, store, seam, events } = runtime
  const { subject, apply } = call
  assertCost(call.cost, program.units)
  const timing = { startedAt: systemClock() }
  let outcome: Outcome | undefined
  for (;;) {
    const digests = hasLongValue(subject, program.dimensions)
      ? await digestsOf(subject, program.dimensions)
      : undefined
    const prepared = seam && (await prepare(runtime, call, timing))
    const plan = planFor(runtime, subject, prepared)
    const { entries, skipped } = resolve(program, contextOf(call, plan, prepared, digests))
    const reads = prepared?.reads ?? NO_READS
    const request = requestOf(runtime, call, entries, reads, prepared?.failure, timing.startedAt)
    const { now, id } = request
    const reply: StoreReply =
      entries.length + reads.length === 0
        ? { source: 'store', now, verdicts: [], values: [] }
        : await store.check(request)
    const decision = conclude(entries, reply, skipped, plan)
    const isSecond = outcome !== undefined
    if (!(isSecond && decision.degraded)) outcome = { id, decision, entries, reply }
    const isOutdated = !decision.degraded && updateRecords(reads, reply.values)
    if (isSecond || !isOutdated || decision.allowed) break
  }
  if (apply) seam?.report(events, subject, outcome as Outcome)
  return outcome as Outcome
}

function contextOf(
  { subject, cost }: LimiterCall,
  { plan, limits }: PlanInForce,
  prepared: Prepared | undefined,
  digests: Digests | undefined,
): EntryContext {
  return {
    subject,
    cost,
    limits: { plan: limits, route: subject.route, model: subject.model },
    plan,
    digests,
    settings: prepared?.settings ?? NO_SETTINGS,
  }
}

function requestOf(
  { program, clock, clockIsInjected }: LimiterRuntime,
  { apply, markFor }: LimiterCall,
  entries: readonly ResolvedEntry[],
  reads: readonly TrackedRecord[],
  failure: unknown,
  startedAt: number,
): StoreRequest {
  const id = requestId()
  return {
    policies: program.policies,
    entries,
    apply,
    now: clock(),
    clockIsInjected,
    startedAt,
    reads: reads.length === 0 ? NO_FIELDS : reads.map(({ field }) => field),
    id,
    mark: markFor?.(id, entries),
    failure,
  }
}

/** Gives each record its value. Returns true if one of them was outdated. */
function updateRecords(
  reads: readonly TrackedRecord[],
  values: readonly (string | undefined)[],
): boolean {
  let isOutdated = false
  for (let index = 0; index < reads.length; index += 1) {
    isOutdated = reads[index]?.update(values[index]) === true || isOutdated
  }
  return isOutdated
}

/** Asks the extensions, if there are any. */
function prepare(
  { extensions, seam }: LimiterRuntime,
  { subject, waitUntil }: LimiterCall,
  timing: { startedAt: number },
): Promise<Prepared> | undefined {
  return seam?.prepare(extensions, {
    subject,
    waitUntil,
    get startedAt() {
      return timing.startedAt
    },
    pauseDeadline(ms) {
      if (ms > 0) timing.startedAt = Math.min(timing.startedAt + ms, systemClock())
    },
  })
}

/** The plan whose limits apply. */
interface PlanInForce {
  readonly plan: string | undefined
  readonly planSource: PlanSource | undefined
  readonly limits: PlanLimits
}

const WITHOUT_PLANS: PlanInForce = { plan: undefined, planSource: undefined, limits: NO_PLAN }

function planFor(
  { plans, events }: LimiterRuntime,
  { plan: given }: Subject,
  prepared: Prepared | undefined,
): PlanInForce {
  if (plans === undefined) return WITHOUT_PLANS
  if (given !== undefined && given !== null) {
    const limits = plans.get(given)
    if (limits) return { plan: given, planSource: 'subject', limits }
    events.problem(unknownPlan(given))
  }
  const found = prepared?.plan
  const plan = found?.name ?? plans.defaultPlan
  return { plan, planSource: found?.source ?? 'default', limits: plans.get(plan) ?? NO_PLAN }
}

let isolate = ''
let count = 0

/** Identifies one request among those of all isolates: random bits of this one, and a number. */
function requestId(): string {
  // Not at module scope, where Workers may not draw random numbers.
  if (isolate === '') isolate = randomId().padStart(13, '0')
  count += 1
  return isolate + count.toString(36)
}
