import type { Extension, ExtensionHost, ExtensionInstance, ExtensionOptions } from './extensions.ts'
import {
  assertFunction,
  assertKnownOptions,
  assertName,
  assertPositiveInteger,
  invalidOption,
} from '../internal/validation.ts'
import { guardBefore } from './guard-before.ts'
import { assertListeners, DEFAULT_THRESHOLDS } from './listen.ts'
import { createRecords } from './records.ts'
import { seam } from './seam.ts'

const DEFAULT_MAX_WAIT_MS = 1_000

/** The longest delay that timers accept. */
const MAX_TIMER_MS = 2 ** 31 - 1

/**
 * Creates an extension. Before a decision it may read records and change limits; it may also listen to
 * events. It can neither break a decision nor delay it for longer than its `maxWaitMs`: a failure
 * becomes the problem `extension_failed`.
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
      const hooks = connect({ policies, plans, clock, problem, records })
      if (typeof hooks !== 'object' || hooks === null) {
        throw invalidOption(`extensions.${name}`, 'connect must return an object')
      }
      const { on = {}, handle, before, maxWaitMs = DEFAULT_MAX_WAIT_MS } = hooks
      const { configures = () => false } = hooks
      assertPositiveInteger(`extensions.${name}.maxWaitMs`, maxWaitMs, MAX_TIMER_MS)
      return {
        name,
        on: assertListeners('extensions.on', on),
        thresholds: DEFAULT_THRESHOLDS,
        configures,
        handle,
        contribute: guardBefore({ name, before, maxWaitMs, plans, problem }),
      }
    },
  })
}
