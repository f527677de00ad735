import type { ExtensionCall } from './call.ts'
import type { Problem } from './events.ts'
import type {
  Contribution,
  ExtensionHooks,
  ExtensionInstance,
  TrackedRecord,
} from './extensions.ts'
import type { Plans } from '../policies/plans.ts'
import type { PolicyRule } from '../policies/policy.ts'
import type { PolicySettings } from './resolve.ts'
import { systemClock } from '../clock.ts'
import { InputError } from '../errors.ts'
import { resolveLimits } from '../policies/limit.ts'

/** The hook `before` of an extension, with the parts of its limiter that guarding it needs. */
interface BeforeHook {
  readonly name: string
  readonly before: ExtensionHooks['before']
  readonly maxWaitMs: number
  readonly plans: Plans | undefined
  readonly problem: (problem: Problem) => void
}

/** Wraps `before` so that it can neither break a decision nor delay it for longer than `maxWaitMs`. */
export function guardBefore(hook: BeforeHook): ExtensionInstance['contribute'] {
  const { name, before, maxWaitMs, plans, problem } = hook

  function reportFailure(error: unknown): undefined {
    const message = `The extension "${name}" failed; the decision was made without it`
    problem({ code: 'extension_failed', message, error })
  }

  /** Handles a failure of `before`. An `InputError` is the caller's mistake and is thrown on. */
  function handleFailure(error: unknown): undefined {
    if (error instanceof InputError) throw error
    return reportFailure(error)
  }

  /** Calls a function of the contribution, which runs during the decision. */
  function callSafely<T>(run: () => T): T | undefined {
    try {
      return run()
    } catch (error) {
      return reportFailure(error)
    }
  }

  /** Validates a contribution and guards its functions. */
  function guardContribution(contribution: Contribution | undefined): Contribution | undefined {
    if (contribution === undefined) return undefined
    if (!isContribution(contribution, plans)) {
      throw new TypeError('before must return a contribution or undefined')
    }
    const { plan, settings, reads, failure } = contribution
    return {
      plan,
      failure,
      settings:
        settings &&
        ((policy, partition) =>
          callSafely(() => assertPolicySettings(settings(policy, partition), policy))),
      reads: reads?.map((record) => ({
        field: record.field,
        update: (value) => callSafely(() => assertBoolean(record.update(value))) === true,
      })),
    }
  }

  return (call: ExtensionCall) => {
    try {
      const contribution = before?.(call)
      if (typeof (contribution as Partial<Promise<unknown>> | undefined)?.then !== 'function') {
        return guardContribution(contribution as Contribution | undefined)
      }
      // A wait that was too long leaves the store its whole time.
      const onTimeout = (): void => call.pauseDeadline(systemClock() - call.startedAt)
      return waitAtMost(maxWaitMs, Promise.resolve(contribution), onTimeout)
        .then(guardContribution)
        .catch(handleFailure)
    } catch (error) {
      return handleFailure(error)
    }
  }
}

function isContribution(contribution: Contribution, plans: Plans | undefined): boolean {
  const { plan, settings, reads } = contribution
  return (
    typeof contribution === 'object' &&
    (plan === undefined || plans === undefined || isPlan(plan, plans)) &&
    (settings === undefined || typeof settings === 'function') &&
    (reads === undefined || reads.every(isTrackedRecord))
  )
}

const isPlan = (plan: NonNullable<Contribution['plan']>, plans: Plans): boolean =>
  typeof plan === 'object' && (plan.name === undefined || plans.get(plan.name) !== undefined)

const isTrackedRecord = (record: TrackedRecord): boolean =>
  typeof record.field.key === 'string' &&
  typeof record.field.field === 'string' &&
  typeof record.update === 'function'

/** Returns `settings` if the policy can have them, else throws. */
function assertPolicySettings(
  settings: PolicySettings | undefined,
  { name, maxUnits }: PolicyRule,
): PolicySettings | undefined {
  if (settings === undefined) return undefined
  const { enabled = true, enforced = true } = settings
  const areSwitches = typeof enabled === 'boolean' && typeof enforced === 'boolean'
  if (typeof settings !== 'object' || !areSwitches) throw new TypeError('settings are malformed')
  resolveLimits({ name, limit: 0, burst: 1, maxUnits }, NO_CONTEXT, settings)
  return settings
}

const NO_CONTEXT = { plan: {}, route: undefined, model: undefined }

/** Returns `value` if it is a boolean or `undefined`, else throws. A promise is not awaited. */
function assertBoolean(value: unknown): unknown {
  if (typeof value === 'boolean' || value === undefined) return value
  if (value instanceof Promise) value.catch(() => {})
  throw new TypeError('update must return true or false')
}

async function waitAtMost<T>(
  maxWaitMs: number,
  promise: Promise<T>,
  onTimeout: () => void,
): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const timeout = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      onTimeout()
      reject(new Error(`No answer within ${maxWaitMs} ms`))
    }, maxWaitMs)
  })
  try {
    return await Promise.race([promise, timeout])
  } finally {
    clearTimeout(timer)
  }
}
