import type { Decision, ExtensionContext, LimiterEvents, Listeners, Subject } from '@sluice/core'
import { assertPositiveInteger } from '@sluice/core/internal'
import { modelsOf } from '@sluice/core/internal/limiter'
import { boundedValues } from './bounded.ts'
import { costBy, outcomeOf, policyThatActed, shareUsed, unitsBy } from './decision-facts.ts'
import type { MetricName } from './metric-table.ts'
import type { Labels } from './names.ts'

/** The options of every way to measure. */
export interface MeasureOptions {
  /** The tenants whose numbers are reported separately. Those of others have no tenant. @default none */
  readonly tenants?: readonly string[]
  /** The most routes, plans and models with numbers of their own. Others are `'other'`. @default 100 */
  readonly maxValues?: number
}

export const MEASURE_OPTIONS: readonly string[] = ['tenants', 'maxValues']

/** Receives measurements: of durations milliseconds, of dollars micro-dollars. */
export interface Recorder {
  /** Returns false while nobody reads what is recorded. @default it is always recorded */
  readonly isActive?: () => boolean
  /** Adds to a counter. */
  add(metric: MetricName, labels: Labels, value: number): void
  /** Adds a value to a histogram. */
  observe(metric: MetricName, labels: Labels, value: number): void
  /** Sets a gauge. @default it is not recorded */
  set?(metric: MetricName, labels: Labels, value: number): void
}

type Units = Readonly<Record<string, number>>

export type Measuring = Required<Omit<Listeners, 'degraded' | 'shadow' | 'problem'>>

/**
 * Creates the listeners that measure a limiter's events.
 *
 * @throws ConfigError When an option is malformed.
 */
export function measure(
  { policies }: Pick<ExtensionContext, 'policies'>,
  recorder: Recorder,
  { tenants = [], maxValues = 100 }: MeasureOptions,
): Measuring {
  assertPositiveInteger('maxValues', maxValues)
  const { isActive } = recorder
  const listed = new Set<string | undefined>(tenants)
  const boundedRoute = boundedValues(maxValues)
  const boundedPlan = boundedValues(maxValues)
  const boundedModel = boundedValues(maxValues)
  const boundedPlace = boundedValues(maxValues)
  const rules = new Map(policies.map((rule) => [rule.name, rule]))

  const whileActive = <Event>(listener: (event: Event) => void): ((event: Event) => void) =>
    isActive ? (event) => (isActive() ? listener(event) : undefined) : listener

  const listedTenant = ({ tenant }: Subject = {}): string | undefined =>
    listed.has(tenant) ? tenant : undefined

  const labelsOf = (subject: Subject, { plan }: Pick<Decision, 'plan'>): Labels => ({
    route: boundedRoute(subject.route),
    plan: boundedPlan(plan),
    tenant: listedTenant(subject),
  })

  /** Records amounts by unit. Requests are counted as decisions. */
  function recordUnits(state: string, labels: Labels, amounts: Units): void {
    for (const [unit, amount] of Object.entries(amounts)) {
      if (amount === 0 || unit === 'request') continue
      if (unit === 'usd') recorder.add('cost', { ...labels, state }, amount)
      else recorder.add('units', { ...labels, state, unit }, amount)
    }
  }

  /** Records units that are known to be used, and the dollars of their request. */
  function recordUse(state: string, labels: Labels, used: Units, subject?: Subject): void {
    recordUnits(state, labels, used)
    const { usd = 0 } = used
    if (usd === 0) return
    recorder.observe(
      'request.cost',
      { plan: labels.plan, model: boundedModel(subject?.model) },
      usd,
    )
  }

  /** Sets a limit, and how much of it is used, where the partition may be named. */
  function recordBudgets(decision: Decision, subject: Subject): void {
    for (const policy of decision.policies) {
      const per = rules.get(policy.name)?.per ?? []
      const isTenants = per.length === 1 && per[0] === 'tenant'
      const tenant = isTenants ? listedTenant(subject) : undefined
      if (per !== 'global' && tenant === undefined) continue
      const labels = { policy: policy.name, tenant }
      // Of a limit of 0 nothing is left, and nothing is used.
      if (policy.limit > 0) recorder.set?.('budget.used', labels, shareUsed(policy))
      recorder.set?.('limit', labels, policy.limit)
    }
  }

  /** Returns the labels of a reservation, and the units that it had charged. */
  function reservedBy({
    charges,
    origin,
  }: LimiterEvents['abandoned']): [labels: Labels, reserved: Units] {
    const units = charges.map(({ policy, units: charged }) => ({
      unit: rules.get(policy)?.unit ?? 'request',
      units: charged,
    }))
    return [origin ? labelsOf(origin.subject, origin) : {}, unitsBy(units)]
  }

  return {
    decision: whileActive(({ decision, subject, reservation }) => {
      const labels = labelsOf(subject, decision)
      const policy = policyThatActed(decision)?.name
      const outcome = outcomeOf(decision)
      const degraded = decision.degraded?.mode
      const source = localSource(decision)
      const { route, plan, tenant } = labels
      const [model, response] = modelsOf(decision, subject).map(boundedModel)
      // A spread of so many would take as long as all the rest.
      recorder.add(
        'decisions',
        { route, plan, tenant, policy, outcome, degraded, source, model, response },
        1,
      )
      for (const state of decision.policies) {
        const { fits, enforced, name } = state
        if (!fits && !enforced) recorder.add('shadow_denials', { ...labels, policy: name }, 1)
        // In thousandths, because sums are of whole numbers.
        const limit = { plan, policy: name }
        if (!degraded && state.limit > 0)
          recorder.observe('limit.used', limit, shareUsed(state) * 1_000)
      }
      if (decision.allowed && !reservation) recordUse('charged', labels, costBy(decision), subject)
      if (recorder.set && !decision.degraded) recordBudgets(decision, subject)
    }),

    storeCall: whileActive(({ call, durationMs, place, error }) => {
      const labels = {
        call,
        place: boundedPlace(placeName(place)),
        error: error === undefined ? undefined : errorType(error),
      }
      recorder.observe('store.duration', labels, durationMs)
    }),

    threshold: whileActive(({ policy, subject, threshold }) => {
      const tenant = listedTenant(subject)
      recorder.add('thresholds', { policy: policy.name, tenant, threshold: String(threshold) }, 1)
    }),

    reserved: whileActive(({ subject, decision }) => {
      recordUnits('reserved', labelsOf(subject, decision), costBy(decision))
    }),

    settled: whileActive((event) => {
      const [labels, reserved] = reservedBy(event)
      const { returned, overrun, corrections, wasReleased } = event
      const corrected = corrections.map(({ policy: { unit }, actual }) => ({ unit, units: actual }))
      // Its release has counted the estimate.
      if (!wasReleased) recordUnits('estimated', labels, reserved)
      recordUse('settled', labels, { ...reserved, ...unitsBy(corrected) }, event.origin?.subject)
      recordUnits('returned', labels, returned)
      recordUnits('overrun', labels, overrun)
    }),

    abandoned: whileActive((event) => {
      recordUse('abandoned', ...reservedBy(event), event.origin?.subject)
    }),

    cutAnswer: whileActive(({ subject, decision }) => {
      const model = boundedModel(subject.model)
      recorder.add('answers.cut', { ...labelsOf(subject, decision), model }, 1)
    }),

    wait: whileActive(({ policy, subject, outcome, waitedMs }) => {
      const labels = { policy, tenant: listedTenant(subject) }
      if (outcome === 'begun') recorder.add('waits.begun', labels, 1)
      else recorder.observe('wait.duration', { ...labels, outcome }, waitedMs)
    }),

    job: whileActive(({ queue, subject, outcome, waitedMs }) => {
      const labels = { queue, tenant: listedTenant(subject) }
      recorder.add('jobs', { ...labels, outcome }, 1)
      if (waitedMs !== undefined) recorder.observe('job.wait', labels, waitedMs)
    }),
  }
}

function errorType(error: unknown): string {
  const { code, name } = (error ?? {}) as { readonly code?: unknown; readonly name?: unknown }
  return typeof code === 'string' ? code : typeof name === 'string' ? name : '_OTHER'
}

/** Returns what has answered in place of the store. */
const localSource = ({ source }: Decision): string | undefined =>
  source === 'lease' || source === 'cache' ? source : undefined

/** Returns the name of a place as a label: of one for each tenant, only the dimension. */
const placeName = (place: string | undefined): string | undefined => place?.replace(/=.*/s, '')
