import type { Extension, ExtensionOptions } from '../limiter/extensions.ts'
import type { Limiter } from '../limiter/limiter.ts'
import { durationMs, type Duration } from '../internal/duration.ts'
import {
  assertFunction,
  assertKnownOptions,
  assertPositiveInteger,
  invalidOption,
} from '../internal/validation.ts'
import { defineExtension } from '../limiter/define-extension.ts'
import { extensionHandle } from '../limiter/runtime.ts'
import { assertPer } from '../subject.ts'
import { PlanRecords } from './plan-records.ts'
import { PlanSearch } from './plan-search.ts'
import { resolverCall, type PlanOf } from './resolver-call.ts'

/** Options of `planResolver`. */
export interface PlanResolverOptions {
  /**
   * The time for which a plan is used before it is looked up again, in the background.
   *
   * @default '5m'
   */
  readonly cacheFor?: Duration
  /**
   * The longest that one look-up may take, in milliseconds. After that the last known plan applies, or the
   * default plan if there is none.
   *
   * @default 1_000
   */
  readonly timeoutMs?: number
  /** The dimension of subjects whose values have plans. @default 'tenant' */
  readonly by?: string
}

const NAME = 'plans'

/** The time that an isolate waits before it repeats a look-up that has timed out. */
const BACK_OFF_MS = 5_000

/**
 * Finds plans with your own function. The store keeps its answers for `cacheFor`, and an isolate
 * reads them every 5 seconds, along with a decision. An isolate that finds none calls the function, at
 * most once per tenant in that time, and saves the answer for all others. If the function throws, takes
 * too long, or returns no plan's name, the last known plan of the past week applies, or else the
 * default plan.
 *
 * @throws ConfigError When an option is unknown or out of range.
 * @example
 * const limiter = createLimiter({
 *   store: upstash(),
 *   plans,
 *   extensions: [planResolver((tenant, { signal }) => database.planOf(tenant, { signal }))],
 *   policies,
 * })
 */
export function planResolver(planOf: PlanOf, options: PlanResolverOptions = {}): Extension {
  assertFunction('planResolver', planOf)
  assertKnownOptions('planResolver', options, ['cacheFor', 'timeoutMs', 'by'])
  const { by = 'tenant' } = options
  assertPer('planResolver.by', [by])
  const cacheMs = durationMs('planResolver.cacheFor', options.cacheFor ?? '5m')
  const timeoutMs = assertPositiveInteger(
    'planResolver.timeoutMs',
    options.timeoutMs ?? 1_000,
    60_000,
  )
  const retryMs = timeoutMs + BACK_OFF_MS

  const connect: ExtensionOptions['connect'] = ({ plans, clock, records, problem }) => {
    if (plans === undefined) {
      throw invalidOption('plans', 'must be set: planResolver names one of them')
    }
    const search = new PlanSearch({
      records: new PlanRecords(records, cacheMs),
      clock,
      by,
      cacheMs,
      timeoutMs,
      retryMs,
      ...resolverCall(planOf, timeoutMs, plans, problem),
    })
    return {
      before: (call) => {
        const { plan } = call.subject
        return plan && plans.get(plan) ? undefined : search.find(call)
      },
      maxWaitMs: 2 * retryMs,
      handle: search,
    }
  }

  return defineExtension({ name: NAME, connect })
}

/**
 * Discards the cached plan of a tenant (or of another dimension's value, see `by`). The next request in
 * this isolate waits for the new plan; other isolates have it within 5 seconds and the time of one look-up.
 *
 * @throws ConfigError When the limiter has no `planResolver`.
 * @throws StoreError When the store fails. The plan is then discarded in this isolate only.
 * @throws InputError When `tenant` is not a valid id.
 * @example
 * await invalidatePlan(limiter, 'acme')
 */
export async function invalidatePlan(limiter: Limiter, tenant: string): Promise<void> {
  await extensionHandle<PlanSearch>(limiter, NAME, 'planResolver').invalidate(tenant)
}
