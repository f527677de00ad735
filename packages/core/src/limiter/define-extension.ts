import type {
  ExtensionHooks,
  Extension,
  ExtensionCall,
  ExtensionHost,
  ExtensionOptions,
  ExtensionInstance,
  Contribution,
  TrackedRecord,
} from './extensions.ts'
import type { Problem } from './events.ts'
import type { Plans } from '../policies/plans.ts'
import type { PolicyRule } from '../policies/policy.ts'
import type { PolicySettings } from './resolve.ts'
import { systemClock } from '../clock.ts'
import { ConfigError, InputError } from '../errors.ts'
import { resolveLimits } from '../policies/limit.ts'
import {
  assertFunction,
  assertKnownOptions,
  assertName,
  assertPositiveInteger,
} from '../internal/validation.ts'
import { DEFAULT_THRESHOLDS, validListeners } from './listen.ts'
import { createRecords } from './records.ts'
import { seam } from './seam.ts'

/** How long a decision waits for an extension that does not say. */
const MAX_WAIT_MS = 1_000

/** Timers take no more. */
const LONGEST_WAIT_MS = 2 ** 31 - 1

/**
 * Makes something that joins limiters: it may read records and set limits before a decision, and is told
 * what happens after it. It can neither break a decision nor delay it for longer than it states; what
 * goes wrong is told as the problem `extension_failed`.
 *
 * @throws ConfigError When an option is missing or malformed.
 * @example
 * const halved = defineExtension({
 *   name: 'halved',
 *   connect: () => ({ before: () => ({ settings: () => (isBusy() ? { limit: 30 } : undefined) }) }),
 * })
 * createLimiter({ store, policies, extensions: [halved] })
 */
export function defineExtension(options: ExtensionOptions): Extension {
  assertKnownOptions('defineExtension', options, ['name', 'connect'])
  const { connect } = options
  const name = assertName('defineExtension.name', options.name)
  assertFunction('defineExtension.connect', connect)
  return Object.freeze({
    name,
    seam,
    join(host: ExtensionHost): ExtensionInstance {
      const { policies, plans, clock, problem } = host
      const records = createRecords(host, policies, clock)
      const connected = connect({ policies, plans, clock, problem, records })
      if (typeof connected !== 'object' || connected === null) {
        throw new ConfigError('invalid_option', `extensions.${name}`, 'must connect to an object')
      }
      const {
        on = {},
        configures = () => false,
        handle,
        before,
        maxWaitMs = MAX_WAIT_MS,
      } = connected
      assertPositiveInteger(`extensions.${name}.maxWaitMs`, maxWaitMs, LONGEST_WAIT_MS)
      return {
        name,
        on: validListeners('extensions.on', on),
        thresholds: DEFAULT_THRESHOLDS,
        configures,
        handle,
        prepare: guarded({ name, before, maxWaitMs, plans, problem }),
      }
    },
  })
}

/** Parts of a guard. */
interface Guarded {
  readonly name: string
  readonly before: ExtensionHooks['before']
  readonly maxWaitMs: number
  readonly plans: Plans | undefined
  readonly problem: (problem: Problem) => void
}

/** Calls `before` so that it cannot break a decision. */
function guarded({
  name,
  before,
  maxWaitMs,
  plans,
  problem,
}: Guarded): ExtensionInstance['prepare'] {
  function failed(error: unknown): undefined {
    const message = `The extension "${name}" failed; the decision was made without it`
    problem({ code: 'extension_failed', message, error })
  }

  /** Runs a part of the extension that is called during the decision. */
  function safely<T>(run: () => T): T | undefined {
    try {
      return run()
    } catch (error) {
      return failed(error)
    }
  }

  function safe(preparation: Contribution | undefined): Contribution | undefined {
    if (preparation === undefined) return undefined
    const { plan, settings, reads, failure } = preparation
    const isUsable =
      typeof preparation === 'object' &&
      (plan === undefined || plans === undefined || isPlan(plan, plans)) &&
      (settings === undefined || typeof settings === 'function') &&
      (reads === undefined || reads.every(isTracked))
    if (!isUsable) throw new TypeError('before must return a preparation, or nothing')
    return {
      plan,
      failure,
      settings:
        settings &&
        ((policy, partition) => safely(() => usable(settings(policy, partition), policy))),
      reads: reads?.map((record) => ({
        field: record.field,
        update: (value) => safely(() => answerOf(record.update(value))) === true,
      })),
    }
  }

  /** Reports a failure of `before`. A subject that it cannot count is the caller's mistake. */
  function unprepared(error: unknown): undefined {
    if (error instanceof InputError) throw error
    return failed(error)
  }

  return (call: ExtensionCall) => {
    try {
      const prepared = before?.(call)
      if (typeof (prepared as Partial<Promise<unknown>> | undefined)?.then !== 'function') {
        return safe(prepared as Contribution | undefined)
      }
      const late = (): void => call.pauseDeadline(systemClock() - call.startedAt)
      return within(Promise.resolve(prepared), maxWaitMs, late).then(safe).catch(unprepared)
    } catch (error) {
      return unprepared(error)
    }
  }
}

const isPlan = (plan: NonNullable<Contribution['plan']>, plans: Plans): boolean =>
  typeof plan === 'object' && (plan.name === undefined || plans.get(plan.name) !== undefined)

const isTracked = (record: TrackedRecord): boolean =>
  typeof record.field.key === 'string' &&
  typeof record.field.field === 'string' &&
  typeof record.update === 'function'

/** Returns `settings` if a policy can have them, else throws. */
function usable(
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

/** Returns what `update` has returned; it has no time to wait. */
function answerOf(answer: unknown): unknown {
  if (typeof answer === 'boolean' || answer === undefined) return answer
  if (answer instanceof Promise) answer.catch(() => {})
  throw new TypeError('update must return true or false')
}

async function within<T>(promise: Promise<T>, maxWaitMs: number, late: () => void): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const deadline = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      // The store has its whole time yet.
      late()
      reject(new Error(`No answer within ${maxWaitMs} ms`))
    }, maxWaitMs)
  })
  try {
    return await Promise.race([promise, deadline])
  } finally {
    clearTimeout(timer)
  }
}
