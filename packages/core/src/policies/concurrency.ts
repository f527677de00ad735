import type { AnyLimitName } from './limit.ts'
import type { Per } from '../subject.ts'
import type { PolicyOf, PolicyOptions } from './policy.ts'
import { slotsAlgorithm } from '../algorithms/slots.ts'
import { durationMs, type Duration } from '../internal/duration.ts'
import { ConfigError } from '../errors.ts'
import { invalidOption } from '../internal/validation.ts'
import { defineRule, createPolicy } from './define-rule.ts'

/** Options of `concurrency`. */
export interface ConcurrencyOptions<
  Partition extends Per = Per,
  Name extends string = AnyLimitName,
> extends Omit<PolicyOptions<Partition, string, Name>, 'unit' | 'backpressure'> {
  /**
   * The longest time that a call may take. A slot that is not given back is freed after it, so choose it
   * above your longest call. @default '5m'
   */
  readonly maxDuration?: Duration
}

/** The unit that is counted. A request costs one call by default. */
const UNIT = 'call'

/** The most slots, because a decision reads all of them. */
const MAX_SLOTS = 1_000

/**
 * Allows at most `limit` calls at the same time. A call from `reserve` holds its slot until it is settled
 * or cancelled, at most for `maxDuration`. A call from `check` holds it for all of `maxDuration`. In
 * Redis it is one sorted set per partition, with a member per call.
 *
 * @throws ConfigError When an option is unknown, missing or out of range. The limit is at most 1_000.
 * @example
 * concurrency({ name: 'in-flight', limit: 5, per: ['tenant'], maxDuration: '2m' })
 */
export function concurrency<const Partition extends Per, Name extends string = AnyLimitName>(
  options: ConcurrencyOptions<Partition, Name>,
): PolicyOf<Partition, 'call', Name> {
  for (const option of ['unit', 'backpressure'] as const) {
    if ((options as Partial<PolicyOptions> | undefined)?.[option] === undefined) continue
    const message = 'unknown option: concurrency counts calls, and does not delay them'
    throw new ConfigError('unknown_option', `concurrency.${option}`, message)
  }
  if (typeof options?.limit === 'number' && options.limit > MAX_SLOTS) {
    throw invalidOption('concurrency.limit', `must be at most ${MAX_SLOTS}`, options.limit)
  }
  const rule = defineRule('concurrency', options as ConcurrencyOptions, ['maxDuration'], () => {
    const windowMs = durationMs('concurrency.maxDuration', options.maxDuration ?? '5m')
    const reason = 'concurrency_exceeded'
    const algorithm = slotsAlgorithm
    return { algorithm, params: [windowMs], windowMs, reason, maxUnits: MAX_SLOTS }
  })
  return createPolicy([Object.freeze({ ...rule, unit: UNIT })])
}
