import type { Per } from '../subject.ts'
import type { AnyLimitName } from './limit.ts'
import type { PolicyOf, PolicyOptions } from './policy.ts'
import { sessionWindowAlgorithm } from '../algorithms/session-window.ts'
import { durationMs, type Duration } from '../internal/duration.ts'
import { ConfigError } from '../errors.ts'
import { policyOfRule } from './define-rule.ts'

/** Options of `sessionWindow`. */
export interface SessionWindowOptions<
  Partition extends Per = Per,
  Unit extends string | undefined = string,
  Name extends string = AnyLimitName,
> extends Omit<PolicyOptions<Partition, Unit, Name>, 'stripes'> {
  /**
   * The time without a charge after which the session is over. A call is charged when it begins: choose
   * it longer than your longest call and the pause after it together.
   */
  readonly idle: Duration
}

/**
 * Allows `limit` units in each session: from the first charge until nothing has been charged for `idle`.
 * Then the whole limit is free again. Use it for a budget per agent run, conversation or upload. A
 * denied request does not prolong a session. In Redis it is one short string per partition.
 *
 * @throws ConfigError When an option is unknown, missing or out of range.
 * @example
 * sessionWindow({ name: 'run', limit: usd(0.5), unit: 'usd', per: ['run'], idle: '30m' })
 */
export function sessionWindow<
  const Partition extends Per,
  const Unit extends string | undefined,
  Name extends string = AnyLimitName,
>(options: SessionWindowOptions<Partition, Unit, Name>): PolicyOf<Partition, Unit, Name> {
  return policyOfRule('sessionWindow', options, ['idle'], () => {
    // A stripe that nobody hits for a while would be free again in the middle of the session.
    if (((options as Partial<PolicyOptions>).stripes ?? 1) !== 1) {
      const message = 'must be left out: each stripe would end by itself, within a session'
      throw new ConfigError('invalid_option', 'sessionWindow.stripes', message)
    }
    const idleMs = durationMs('sessionWindow.idle', options.idle)
    return { algorithm: sessionWindowAlgorithm, params: [idleMs], windowMs: idleMs }
  })
}
