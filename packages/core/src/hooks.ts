import type { Clock } from './clock.ts'
import type { PolicyState } from './decision.ts'
import type { Subject } from './subject.ts'
import { ConfigError } from './errors.ts'
import { aFunction, knownOptions } from './validate.ts'

/** What a limiter tells as it happens. What a hook throws is logged, and changes no decision. */
export interface Hooks {
  /**
   * A charge has brought a policy past one of the limiter's `thresholds`. Once for each crossing. Told by
   * what `check` and `reserve` charge; what `settle` adds is not told.
   */
  readonly threshold?: (event: PolicyEvent & { readonly threshold: number }) => void
  /** A shadow policy would have denied the request. */
  readonly shadowDenial?: (event: PolicyEvent) => void
  /**
   * Something is wrong that does not stop decisions, such as an unknown plan. The same thing is told
   * once a minute, and of unknown plans at most ten names from each `source`. @default console.error
   */
  readonly problem?: (problem: Problem) => void
}

/** A policy's state in one decision. */
export interface PolicyEvent {
  readonly policy: PolicyState
  readonly subject: Subject
}

/** Something that is wrong and does not stop decisions. */
export interface Problem {
  readonly code: 'unknown_plan' | 'plan_resolver_failed' | 'invalid_configuration'
  /** A sentence for the log. Holds no id of anyone. */
  readonly message: string
  /** The origin of an unknown plan's name: the subject of a request, or the plan resolver. */
  readonly source?: 'subject' | 'resolver'
  /** What was thrown, if something was. */
  readonly error?: unknown
}

/** The shares of a limit of which `threshold` tells unless others are given. */
export const DEFAULT_THRESHOLDS: readonly number[] = [0.8, 0.95]

const isShare = (value: unknown): boolean => typeof value === 'number' && value > 0 && value <= 1

/** Returns `thresholds` if they are shares of a limit, else throws. */
export function validThresholds(thresholds: unknown): readonly number[] {
  if (Array.isArray(thresholds) && thresholds.every(isShare)) return [...(thresholds as number[])]
  const message = 'must be a list of shares of a limit, above 0 and up to 1, such as [0.8, 0.95]'
  throw new ConfigError('invalid_option', 'thresholds', message)
}

/** The hooks with their defaults, made so that none can throw. @throws ConfigError When malformed. */
export function safeHooks(hooks: Hooks, clock: Clock): Required<Hooks> {
  knownOptions('hooks', hooks, ['threshold', 'shadowDenial', 'problem'])
  const { threshold = () => {}, shadowDenial = () => {}, problem = logged } = hooks
  return {
    threshold: safe('threshold', threshold),
    shadowDenial: safe('shadowDenial', shadowDenial),
    problem: throttle(safe('problem', problem), clock),
  }
}

function safe<Event>(name: string, hook: (event: Event) => void): (event: Event) => void {
  aFunction(`hooks.${name}`, hook)
  const failed = (error: unknown): void => console.error(`The hook "${name}" failed:`, error)
  return (event) => {
    try {
      // A hook may well be async, and nobody waits for it.
      const done: unknown = hook(event)
      if (done instanceof Promise) done.catch(failed)
    } catch (error) {
      failed(error)
    }
  }
}

/** Passes a problem on once a minute, and of one kind at most a hundred (unknown names: ten). */
function throttle(tell: (problem: Problem) => void, clock: Clock): (problem: Problem) => void {
  const kinds: Record<string, Map<string, number>> = {}
  return (problem) => {
    const { code, source, message } = problem
    const now = clock()
    // By kind, as names from outside come in any number and must not hide the other problems.
    const times = (kinds[code + source] ??= new Map())
    // Either way, as a clock may be set back.
    for (const [text, at] of times) if (Math.abs(now - at) >= 60_000) times.delete(text)
    if (times.has(message) || times.size >= (source ? 10 : 100)) return
    times.set(message, now)
    tell(problem)
  }
}

function logged({ message, error }: Problem): void {
  if (error === undefined) console.error(message)
  else console.error(message, error)
}

/** The thresholds that a charge of `cost` has brought a count past that can hold `most` units. */
export function crossed(
  most: number,
  { remaining, cost, fits }: PolicyState,
  thresholds: readonly number[],
): number[] {
  if (!fits) return []
  const after = most - remaining
  // Divided, as 0.55 is the number nearest to 55/100, and 0.55 * 100 is more than 55.
  return thresholds.filter((share) => after / most >= share && (after - cost) / most < share)
}
