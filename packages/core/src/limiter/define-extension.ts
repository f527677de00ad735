import type {
  ConnectedExtension,
  Extension,
  ExtensionCall,
  ExtensionHost,
  ExtensionOptions,
  JoinedExtension,
  Preparation,
} from './extensions.ts'
import type { Problem } from './events.ts'
import { ConfigError, InputError } from '../errors.ts'
import { aFunction, plainName } from '../validate.ts'
import { recordsOf } from './records.ts'

/** How long a decision waits for an extension that does not say. */
const MAX_WAIT_MS = 1_000

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
export function defineExtension({ name, connect }: ExtensionOptions): Extension {
  plainName('defineExtension.name', name)
  aFunction('defineExtension.connect', connect)
  return Object.freeze({
    name,
    join({ store, policies, plans, clock, problem }: ExtensionHost): JoinedExtension {
      const records = recordsOf(store, policies, clock)
      const connected = connect({ policies, plans, clock, problem, records })
      if (typeof connected !== 'object' || connected === null) {
        throw new ConfigError('invalid_option', `extensions.${name}`, 'must connect to an object')
      }
      const { on = {}, configures = () => false, handle } = connected
      return { name, on, configures, handle, prepare: guarded(name, connected, problem) }
    },
  })
}

/** Calls `before` so that it cannot break a decision. */
function guarded(
  name: string,
  { before, maxWaitMs = MAX_WAIT_MS }: ConnectedExtension,
  problem: (problem: Problem) => void,
): JoinedExtension['prepare'] {
  function failed(error: unknown): undefined {
    // A subject that cannot be counted is the caller's mistake.
    if (error instanceof InputError) throw error
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

  function safe(preparation: unknown): Preparation | undefined {
    if (preparation === undefined) return undefined
    const { plan, settings, reads, failure } = preparation as Preparation
    return {
      plan,
      failure,
      settings: settings && ((...args) => safely(() => settings(...args))),
      reads: reads?.map(({ field, update }) => ({
        field,
        update: (value) => safely(() => update(value)) === true,
      })),
    }
  }

  return (call: ExtensionCall) => {
    const prepared = safely(() => before?.(call))
    if (!(prepared instanceof Promise)) return safely(() => safe(prepared))
    return within(prepared, maxWaitMs).then(safe).catch(failed)
  }
}

async function within<T>(promise: Promise<T>, maxWaitMs: number): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`No answer within ${maxWaitMs} ms`)), maxWaitMs)
  })
  try {
    return await Promise.race([promise, late])
  } finally {
    clearTimeout(timer)
  }
}
