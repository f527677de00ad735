import type { AnyLimitName } from './limit.ts'
import type { Per } from '../subject.ts'
import type { PolicyOf, PolicyOptions } from './policy.ts'
import { slotsAlgorithm } from '../algorithms/slots.ts'
import { durationMs, type Duration } from '../internal/duration.ts'
import { ConfigError } from '../errors.ts'
import { defineRule, createPolicy } from './policy.ts'

/** Options of `concurrency`. */
export interface ConcurrencyOptions<
  Partition extends Per = Per,
  Name extends string = AnyLimitName,
> extends Omit<PolicyOptions<Partition, string, Name>, 'unit' | 'backpressure'> {
  /**
   * How long a call may take: if nobody says that it is over, its slot comes free then. Choose it above
   * your longest call. @default '5m'
   */
  readonly maxDuration?: Duration
}

/** What is counted: each request is one call unless its cost says otherwise. */
const UNIT = 'call'

/** More slots than this would make a decision read too much at once. */
const MAX_SLOTS = 1_000

/**
 * Allows at most `limit` calls at the same time. A call that `reserve` let in holds its slot
 * until it is settled or cancelled, or, if its holder dies, for `maxDuration`; one that `check` let
 * in holds it for `maxDuration`. In Redis it is one sorted set per partition, with a member per call.
 *
 * @throws ConfigError When an option is unknown, missing or out of range. At most 1_000 calls.
 * @example
 * concurrency({ name: 'in-flight', limit: 5, per: ['tenant'], maxDuration: '2m' })
 */
export function concurrency<const Partition extends Per, Name extends string = AnyLimitName>(
  options: ConcurrencyOptions<Partition, Name>,
): PolicyOf<Partition, 'call', Name> {
  for (const option of ['unit', 'backpressure'] as const) {
    if ((options as Partial<PolicyOptions> | undefined)?.[option] === undefined) continue
    const message = 'is no option: calls are counted, and those beyond the limit are not delayed'
    throw new ConfigError('unknown_option', `concurrency.${option}`, message)
  }
  if (typeof options?.limit === 'number' && options.limit > MAX_SLOTS) {
    throw new ConfigError('invalid_option', 'concurrency.limit', `must be at most ${MAX_SLOTS}`)
  }
  const rule = defineRule('concurrency', options as ConcurrencyOptions, ['maxDuration'], () => {
    const windowMs = durationMs('concurrency.maxDuration', options.maxDuration ?? '5m')
    const reason = 'concurrency_exceeded'
    const algorithm = slotsAlgorithm
    return { algorithm, params: [windowMs], windowMs, reason, maxUnits: MAX_SLOTS }
  })
  return createPolicy([Object.freeze({ ...rule, unit: UNIT })])
}
