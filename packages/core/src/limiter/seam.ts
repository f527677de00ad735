import type { PolicyState } from '../decision.ts'
import type { Entry, Store, StoreReply } from '../stores/store.ts'
import type { StoreError } from '../errors.ts'
import type { ExtensionCall, LimiterCall } from './call.ts'
import type { LimiterEvents, Listeners, Problem } from './events.ts'
import type { Contribution, Emitters, ExtensionInstance, Seam } from './extensions.ts'
import type { Outcome } from './outcome.ts'
import type { PolicySettings } from './resolve.ts'
import { systemClock, type Clock } from '../clock.ts'
import { logProblem, throttleProblems } from './problems.ts'

/** The code that connects extensions to a limiter. See `Seam`. */
export const seam: Seam = { startCall, contribute, createEmitters, report, observeStore }

function startCall({ subject, waitUntil }: LimiterCall): ExtensionCall {
  const call = {
    subject,
    waitUntil,
    startedAt: systemClock(),
    pauseDeadline(ms: number) {
      if (ms > 0) call.startedAt = Math.min(call.startedAt + ms, systemClock())
    },
  }
  return call
}

async function contribute(
  extensions: readonly ExtensionInstance[],
  call: ExtensionCall,
): Promise<Contribution> {
  const contributions = await Promise.all(
    extensions.map(async (extension) => extension.contribute(call)),
  )
  const valuesOf = <Name extends keyof Contribution>(
    name: Name,
  ): NonNullable<Contribution[Name]>[] =>
    contributions
      .map((contribution) => contribution?.[name])
      .filter((value) => value !== undefined && value !== null)
  const lookups = valuesOf('settings')
  return {
    plan: valuesOf('plan')[0],
    settings(policy, partition) {
      let found: PolicySettings | undefined
      for (const lookup of lookups) found ??= lookup(policy, partition)
      return found
    },
    reads: valuesOf('reads').flat(),
    failure: valuesOf('failure')[0],
  }
}

type Emit = (event: unknown) => void

function createEmitters(extensions: readonly ExtensionInstance[], clock: Clock): Emitters {
  const emitters: Record<string, unknown> = {}
  for (const name of new Set(extensions.flatMap(({ on }) => Object.keys(on)))) {
    const listeners = extensions.flatMap(({ on, thresholds }) => {
      const listener = on[name as keyof Listeners] as ((event: unknown) => unknown) | undefined
      if (listener === undefined) return []
      const emit = guardListener(name, listener)
      return [name === 'threshold' ? emitCrossed(emit, thresholds) : emit]
    })
    if (listeners.length > 0) {
      emitters[name] = (event: never) => listeners.forEach((emit) => emit(event))
    }
  }
  if ('reserved' in emitters || 'settled' in emitters || 'abandoned' in emitters) {
    emitters['reserved'] = noteOrigin(emitters['reserved'] as Listeners['reserved'])
  }
  const problem = (emitters['problem'] ?? logProblem) as (problem: Problem) => void
  return { ...emitters, problem: throttleProblems(problem, clock) }
}

/** Returns what a reservation was made for, so that its settlement in another process knows it. */
function noteOrigin(emit: Listeners['reserved']): NonNullable<Emitters['reserved']> {
  return ({ id, settleBy }, { call: { subject }, decision, entries }) => {
    const { plan, at } = decision
    const limits = Object.fromEntries(
      entries.map(({ policy, policyLimit }) => [policy.name, policyLimit]),
    )
    emit?.({ id, subject, decision, settleBy })
    return { subject, plan, at, limits }
  }
}

function guardListener(name: string, listener: (event: unknown) => unknown): Emit {
  const logFailure = (error: unknown): void =>
    console.error(`Sluice: A listener of "${name}" failed:`, error)
  return (event) => {
    try {
      // A listener may be async. It is not awaited.
      const result = listener(event)
      if (result instanceof Promise) result.catch(logFailure)
    } catch (error) {
      logFailure(error)
    }
  }
}

/** The most thresholds of partitions that are known to be crossed. Past it, the first is forgotten. */
const MAX_CROSSED = 10_000

/** Emits `threshold` for each threshold that a charge has crossed, once for a partition and window. */
function emitCrossed(emit: Emit, thresholds: readonly number[]): (event: never) => void {
  const crossedUntil = new Map<string, number>()
  return ({ policy, subject, entry, at }: Parameters<Emitters['threshold'] & object>[0]) => {
    for (const threshold of crossedThresholds(entry.burst, policy, thresholds)) {
      const key = `${threshold} ${partitionKey(entry)}`
      // Units that a reservation has returned may be charged again, past the same threshold.
      if (at < (crossedUntil.get(key) ?? 0)) continue
      crossedUntil.set(key, at + windowLeftMs(policy, entry))
      const [first = ''] = crossedUntil.keys()
      if (crossedUntil.size > MAX_CROSSED) crossedUntil.delete(first)
      emit({ policy, subject, threshold })
    }
  }
}

/** Returns the key of a partition, without that of its stripe. */
const partitionKey = ({ key, policy }: Entry): string =>
  policy.stripes > 1 ? key.slice(0, key.lastIndexOf(':')) : key

/** Returns the time to the end of a window of which all units return at once, else the length of the window. */
function windowLeftMs({ resetMs, windowMs }: PolicyState, { policy }: Entry): number {
  const { traits } = policy.algorithm
  return traits?.windowEnd || traits?.endsTogether ? resetMs : windowMs
}

/** Returns the thresholds, as shares of `capacity`, that lie between the use before a charge and after. */
function crossedThresholds(
  capacity: number,
  { remaining, cost }: PolicyState,
  thresholds: readonly number[],
): number[] {
  const used = capacity - remaining
  // Compares quotients: 0.55 is the double nearest to 55/100, but 0.55 * 100 is more than 55.
  return thresholds.filter((share) => used / capacity >= share && (used - cost) / capacity < share)
}

function report(
  events: Emitters,
  { id, call: { subject, apply, markFor }, decision, entries, extensionCall: call }: Outcome,
): void {
  if (!apply || !call) return
  const reservation = markFor && decision.allowed ? id : undefined
  events.decision?.({ decision, subject, call, reservation })
  if (decision.degraded) events.degraded?.({ degraded: decision.degraded, subject })
  if (!events.shadow && !events.threshold) return
  for (const [index, policy] of decision.policies.entries()) {
    if (!policy.fits && !policy.enforced) events.shadow?.({ policy, subject })
    const entry = entries[index]
    if (entry && policy.charged && policy.fits)
      events.threshold?.({ policy, subject, entry, at: decision.at })
  }
}

function observeStore(store: Store, emit: (event: LimiterEvents['storeCall']) => void): Store {
  async function measure<T>(
    call: LimiterEvents['storeCall']['call'],
    run: () => Promise<T>,
    factsOf: (result: T) => CallFacts | undefined = () => NO_FACTS,
  ): Promise<T> {
    const startedAt = systemClock()
    try {
      const result = await run()
      const facts = factsOf(result)
      if (!facts) return result
      const { place, error } = facts
      emit({ call, durationMs: systemClock() - startedAt, place, error })
      return result
    } catch (error) {
      const { origin, place } = error as Partial<StoreError>
      emit({ call, durationMs: systemClock() - startedAt, place: origin ?? place, error })
      throw error
    }
  }
  return {
    accept: store.accept?.bind(store),
    check: (request) => measure('check', () => store.check(request), callFacts),
    run: (operation) => measure('run', () => store.run(operation)),
    reset: (keys) => measure('reset', () => store.reset(keys)),
  }
}

const NO_FACTS: CallFacts = {}

type CallFacts = Pick<LimiterEvents['storeCall'], 'place' | 'error'>

/** Returns the facts of a call from its reply, or `undefined` if a lease or a cache has answered without one. */
function callFacts({ source, place, degraded, problem }: StoreReply): CallFacts | undefined {
  const isLocal = source === 'lease' || source === 'cache'
  // The part of a decision that a place counts is asked for there, also if a lease has the rest.
  if (isLocal && !degraded && place === undefined) return undefined
  return { place, error: problem && (problem.error ?? problem) }
}
