import type { Per } from '../subject.ts'
import type { AnyLimitName } from './limit.ts'
import type { PolicyOf, PolicyOptions } from './policy.ts'
import { sessionLengthAlgorithm, sessionWindowAlgorithm } from '../algorithms/session-window.ts'
import { durationMs, type Duration } from '../internal/duration.ts'
import { invalidOption } from '../internal/validation.ts'
import { policyOfRule } from './define-rule.ts'

/** The end of a session by its length, and by a pause if there is `idle`, too. */
interface SessionLength {
  /** The time after its first charge at which a session is over, such as `'5h'`. Nothing prolongs it. */
  readonly length: Duration
  readonly idle?: Duration | undefined
}

/** The end of a session by a pause, and by its length if there is one. */
interface SessionIdle {
  readonly length?: Duration | undefined
  /**
   * The time without a charge after which a session is over. A call is charged when it begins: choose
   * it longer than your longest call and the pause after it together.
   */
  readonly idle: Duration
}

/** Options of `sessionWindow`: `length`, `idle`, or both. */
export type SessionWindowOptions<
  Partition extends Per = Per,
  Unit extends string | undefined = string,
  Name extends string = AnyLimitName,
> = Omit<PolicyOptions<Partition, Unit, Name>, 'stripes'> & (SessionLength | SessionIdle)

/**
 * Allows `limit` units in each session. A session begins with its first charge. It is over after `length`, or when
 * nothing has been charged for `idle`, whichever comes first. Then the whole limit is free again. Use `length` for a
 * quota of 5 hours or 7 days from first use, and `idle` for a budget per agent run, conversation or upload. A denied
 * request neither begins nor prolongs a session. In Redis it is one short string per partition.
 *
 * @throws ConfigError When an option is unknown, missing or out of range.
 * @example
 * sessionWindow({ name: 'five_hours', limit: usd(5), unit: 'usd', per: ['user'], length: '5h' })
 * sessionWindow({ name: 'run', limit: usd(0.5), unit: 'usd', per: ['run'], idle: '30m' })
 */
export function sessionWindow<
  const Partition extends Per,
  const Unit extends string | undefined,
  Name extends string = AnyLimitName,
>(options: SessionWindowOptions<Partition, Unit, Name>): PolicyOf<Partition, Unit, Name> {
  return policyOfRule('sessionWindow', options, ['length', 'idle'], () => {
    // A stripe that nobody hits for a while would be free again in the middle of the session.
    if (((options as Partial<PolicyOptions>).stripes ?? 1) !== 1) {
      const message = 'must be left out: each stripe would end by itself, within a session'
      throw invalidOption('sessionWindow.stripes', message)
    }
    const { length, idle } = options
    if (length === undefined && idle === undefined) {
      const message =
        'must be a duration such as "5h", unless idle is one: nothing else ends a session'
      throw invalidOption('sessionWindow.length', message)
    }
    const idleMs = idle === undefined ? 0 : durationMs('sessionWindow.idle', idle)
    // A policy of `idle` alone goes on with the counts of its key.
    if (length === undefined) {
      return { algorithm: sessionWindowAlgorithm, params: [idleMs], windowMs: idleMs }
    }
    const windowMs = durationMs('sessionWindow.length', length)
    const algorithm = idle === undefined ? sessionLengthAlgorithm : sessionWindowAlgorithm
    return { algorithm, params: [idleMs, windowMs], windowMs }
  })
}
