import type { Plans } from './plans.ts'
import type { Lent } from '../watch.ts'
import { durationMs, type Duration } from '../duration.ts'
import { PlanRecords } from './plan-records.ts'
import { PlanSearch } from './plan-search.ts'
import { unknownPlan } from './plans.ts'
import { validPer } from '../subject.ts'
import { aFunction, knownOptions, positiveInteger } from '../validate.ts'

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

/** Finds the plans of subjects that name none. Made by `planResolver`. */
export interface PlanResolver {
  /** Makes the part that belongs to one limiter. */
  connect(lent: Lent, plans: Plans): PlanSearch
}

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
 *   planOf: planResolver((tenant, { signal }) => database.planOf(tenant, { signal })),
 *   policies,
 * })
 */
export function planResolver(planOf: PlanOf, options: PlanResolverOptions = {}): PlanResolver {
  aFunction('planResolver', planOf)
  knownOptions('planResolver', options, ['cacheFor', 'timeoutMs', 'by'])
  const { by = 'tenant' } = options
  validPer('planResolver.by', [by])
  const cacheMs = durationMs('planResolver.cacheFor', options.cacheFor ?? '5m')
  const timeoutMs = positiveInteger('planResolver.timeoutMs', options.timeoutMs ?? 1_000, 60_000)
  const claimMs = timeoutMs + BACK_OFF_MS

  function connect(lent: Lent, plans: Plans): PlanSearch {
    function definedPlan(name: string | undefined): string | undefined {
      if (name === undefined || plans.get(name)) return name
      lent.problem(unknownPlan(name, 'resolver'))
      return undefined
    }

    function failed(what: string, error?: unknown): undefined {
      lent.problem({ code: 'plan_resolver_failed', message: `The plan resolver ${what}`, error })
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

    const { clock } = lent
    const records = new PlanRecords(lent, cacheMs, claimMs)
    return new PlanSearch({
      records,
      by,
      clock,
      timeoutMs,
      claimMs,
      cacheMs,
      resolve,
      definedPlan,
    })
  }

  return Object.freeze({ connect })
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
