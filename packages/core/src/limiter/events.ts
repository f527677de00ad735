import type { Clock } from '../clock.ts'
import type { Decision, Degraded, PolicyState } from '../decision.ts'
import type { Subject } from '../subject.ts'
import { aFunction, knownOptions } from '../validate.ts'

/** What happens in a limiter, by the name of the event. */
export interface LimiterEvents {
  /** A check or a reservation was decided. */
  readonly decision: { readonly decision: Decision; readonly subject: Subject }
  /** A check was decided without the store. */
  readonly degraded: { readonly degraded: Degraded; readonly subject: Subject }
  /** The store answered, or failed. */
  readonly storeCall: {
    readonly call: 'check' | 'run' | 'reset'
    readonly durationMs: number
    /** The error it failed with. */
    readonly error?: unknown
  }
  /**
   * A charge brought a policy past one of the limiter's `thresholds`. Once for each crossing. A
   * reservation counts with its estimate; what settling adds is not looked at.
   */
  readonly threshold: PolicyEvent & { readonly threshold: number }
  /** A shadow policy would have denied the request. */
  readonly shadow: PolicyEvent
  /** A reservation was made. */
  readonly reserved: { readonly id: string; readonly subject: Subject; readonly decision: Decision }
  /** A reservation was settled: units charged or given back, by unit. */
  readonly settled: SettledEvent
  /** A reservation was settled too late: its estimate has become final. */
  readonly abandoned: { readonly id: string }
  /**
   * Something is wrong that does not stop decisions, such as an unknown plan. The same thing is told
   * once a minute, and of unknown plans at most ten names from each `source`.
   */
  readonly problem: Problem
}

/** A policy's state in one decision. */
export interface PolicyEvent {
  readonly policy: PolicyState
  readonly subject: Subject
}

/** What settling a reservation changed. */
export interface SettledEvent {
  readonly id: string
  readonly returned: Readonly<Record<string, number>>
  readonly overrun: Readonly<Record<string, number>>
}

/** Something that is wrong and does not stop decisions. */
export interface Problem {
  readonly code:
    | 'unknown_plan'
    | 'plan_resolver_failed'
    | 'invalid_configuration'
    | 'extension_failed'
    | 'reservation_lost'
  /** A sentence for the log. Holds no id of anyone. */
  readonly message: string
  /** The origin of an unknown plan's name: the subject of a request, or the plan resolver. */
  readonly source?: 'subject' | 'resolver'
  /** The error that was thrown, if one was. */
  readonly error?: unknown
}

/** Reports a name that is no plan's. Cut short: it may come from outside. */
export function unknownPlan(name: unknown, source: 'subject' | 'resolver' = 'subject'): Problem {
  const shown = typeof name === 'string' ? JSON.stringify(name.slice(0, 64)) : typeof name
  const message = `No plan is named ${shown}; the last known or the default plan applies`
  return { code: 'unknown_plan', source, message }
}

/** Functions that are called as things happen. Exceptions are logged and never affect a decision. */
export type Listeners = {
  readonly [Name in keyof LimiterEvents]?: (event: LimiterEvents[Name]) => void
}

/** One function for each event that somebody listens to; problems are always told. */
export type Emitters = Listeners & Required<Pick<Listeners, 'problem'>>

const NAMES: readonly (keyof LimiterEvents)[] = [
  'decision',
  'degraded',
  'storeCall',
  'threshold',
  'shadow',
  'reserved',
  'settled',
  'abandoned',
  'problem',
]

/** Returns `listeners` if they are functions of known names, else throws. */
export function validListeners(option: string, listeners: Listeners): Listeners {
  knownOptions(option, listeners, NAMES)
  for (const [name, listener] of Object.entries(listeners)) {
    if (listener !== undefined) aFunction(`${option}.${name}`, listener)
  }
  return listeners
}

/** Joins listeners, so that none can break a decision. */
export function emittersOf(all: readonly Listeners[], clock: Clock): Emitters {
  const emitters: Record<string, (event: never) => void> = {}
  for (const name of NAMES) {
    const own = all.map((listeners) => listeners[name]).filter((one) => one !== undefined)
    if (own.length > 0) emitters[name] = guarded(name, own as ((event: unknown) => void)[])
  }
  const problem = (emitters['problem'] ?? logged) as (problem: Problem) => void
  return { ...emitters, problem: throttled(problem, clock) }
}

function guarded(
  name: string,
  listeners: readonly ((event: unknown) => unknown)[],
): (event: unknown) => void {
  const failed = (error: unknown): void => console.error(`A listener of "${name}" failed:`, error)
  return (event) => {
    for (const listener of listeners) {
      try {
        // A listener may well be async, and nobody waits for it.
        const done = listener(event)
        if (done instanceof Promise) done.catch(failed)
      } catch (error) {
        failed(error)
      }
    }
  }
}

/** Passes a problem on once a minute, and of one kind at most a hundred (unknown names: ten). */
function throttled(tell: (problem: Problem) => void, clock: Clock): (problem: Problem) => void {
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
export function crossedThresholds(
  most: number,
  { remaining, cost }: PolicyState,
  thresholds: readonly number[],
): number[] {
  const after = most - remaining
  // Divided, as 0.55 is the number nearest to 55/100, and 0.55 * 100 is more than 55.
  return thresholds.filter((share) => after / most >= share && (after - cost) / most < share)
}
