import type { Extension, ExtensionOptions } from '../limiter/extensions.ts'
import { defineExtension } from '../limiter/define-extension.ts'
import type { Limiter } from '../limiter/limiter.ts'
import { ConfigError } from '../errors.ts'
import { extensionHandle } from '../limiter/runtime.ts'
import { durationMs, type Duration } from '../internal/duration.ts'
import { PlanRecords } from './plan-records.ts'
import { PlanSearch } from './plan-search.ts'
import { unknownPlan } from '../limiter/problems.ts'
import { assertPer } from '../subject.ts'
import {
  assertFunction,
  assertKnownOptions,
  assertPositiveInteger,
} from '../internal/validation.ts'

/** Looks up the name of a tenant's plan, in a database say. */
export type PlanOf = (
  tenant: string,
  context: {
    /** Aborts at the resolver's `timeoutMs`. */
    readonly signal: AbortSignal
  },
) => string | Promise<string>

/** Options of `planResolver`. */
export interface PlanResolverOptions {
  /** How long a plan is used until it is looked up again, which no request waits for. @default '5m' */
  readonly cacheFor?: Duration
  /**
   * How long one look-up may take, in milliseconds; then the last known plan applies, or else the
   * default plan. @default 1_000
   */
  readonly timeoutMs?: number
  /** The dimension of subjects whose values have plans. @default 'tenant' */
  readonly by?: string
}

const NAME = 'plans'

/** How much longer than a look-up its claim lasts, and how long nobody looks again after a failure. */
const BACK_OFF_MS = 5_000

const LATE = Symbol('late')

/**
 * Finds plans by a function of yours. What it says is kept in the store for `cacheFor`, and an isolate
 * looks there every 5 seconds, along with a decision: the function is called once for each tenant in
 * that time, however many requests and isolates there are. When it throws, is slow, or names no plan,
 * the last known plan applies, up to a week old, or else the default plan.
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
  const claimMs = timeoutMs + BACK_OFF_MS

  const connect: ExtensionOptions['connect'] = ({ plans, clock, records: store, problem }) => {
    if (plans === undefined) {
      throw new ConfigError('invalid_option', 'plans', 'is missing, and planResolver names them')
    }
    const defined = plans
    function definedPlan(name: string | undefined): string | undefined {
      if (name === undefined || defined.get(name)) return name
      problem(unknownPlan(name, 'resolver'))
      return undefined
    }

    function failed(what: string, error?: unknown): undefined {
      problem({ code: 'plan_resolver_failed', message: `The plan resolver ${what}`, error })
    }

    async function resolve(id: string): Promise<string | undefined> {
      try {
        const name = await withDeadline(timeoutMs, (signal) => planOf(id, { signal }))
        if (name === LATE) return failed(`did not answer within ${timeoutMs} ms`)
        return typeof name === 'string' ? definedPlan(name) : failed('returned no name of a plan')
      } catch (error) {
        return failed('threw', error)
      }
    }

    const records = new PlanRecords(store, cacheMs, claimMs)
    const search = new PlanSearch({
      records,
      by,
      clock,
      timeoutMs,
      claimMs,
      cacheMs,
      resolve,
      definedPlan,
    })
    return {
      before: (call) => {
        const { plan } = call.subject
        return plan && plans.get(plan) ? undefined : search.find(call)
      },
      maxWaitMs: 2 * claimMs,
      handle: search,
    }
  }

  return defineExtension({ name: NAME, connect })
}

/**
 * Makes the plan of a tenant (or whatever the resolver is `by`) be looked up again: in this isolate by
 * its next request, which waits for it, in the others within 5 seconds and the time that the look-up takes.
 *
 * @throws ConfigError When the limiter has no `planResolver`.
 * @throws StoreError When the store fails; then in this isolate only.
 * @throws InputError When `tenant` is no id.
 * @example
 * await invalidatePlan(limiter, 'acme')
 */
export async function invalidatePlan(limiter: Limiter, tenant: string): Promise<void> {
  await extensionHandle<PlanSearch>(limiter, NAME, 'planResolver').invalidate(tenant)
}

/** What `call` comes to, or `LATE`; its signal is aborted then. */
async function withDeadline(
  timeoutMs: number,
  call: (signal: AbortSignal) => unknown,
): Promise<unknown> {
  const controller = new AbortController()
  let timer: ReturnType<typeof setTimeout> | undefined
  const late = new Promise<typeof LATE>((resolve) => {
    timer = setTimeout(() => {
      resolve(LATE)
      controller.abort()
    }, timeoutMs)
  })
  try {
    return await Promise.race([call(controller.signal), late])
  } finally {
    clearTimeout(timer)
  }
}
