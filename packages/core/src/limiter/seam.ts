import type { Clock } from '../clock.ts'
import type { PolicyState } from '../decision.ts'
import type { Store } from '../stores/store.ts'
import type { Subject } from '../subject.ts'
import type { Emitters, LimiterEvents, Listeners, Problem } from './events.ts'
import type { ExtensionCall, ExtensionInstance, Contribution, CombinedContribution, Seam } from './extensions.ts'
import { systemClock } from '../clock.ts'
import { logged, throttled } from './problems.ts'

/** See `Seam`. */
export const seam: Seam = { prepare, emittersOf, report, observed }

async function prepare(
  extensions: readonly ExtensionInstance[],
  call: ExtensionCall,
): Promise<CombinedContribution> {
  const all = await Promise.all(extensions.map(async (extension) => extension.prepare(call)))
  const pick = <Name extends keyof Contribution>(name: Name): NonNullable<Contribution[Name]>[] =>
    all
      .map((preparation) => preparation?.[name])
      .filter((value) => value !== undefined && value !== null)
  return {
    plan: pick('plan')[0],
    settings: pick('settings'),
    reads: pick('reads').flat(),
    failure: pick('failure')[0],
  }
}

function emittersOf(extensions: readonly ExtensionInstance[], clock: Clock): Emitters {
  const emitters: Record<string, (event: never) => void> = {}
  for (const name of new Set(extensions.flatMap(({ on }) => Object.keys(on)))) {
    const own = extensions.flatMap(({ on, thresholds }) => {
      const listener = on[name as keyof Listeners] as ((event: unknown) => unknown) | undefined
      if (listener === undefined) return []
      const safe = guarded(name, listener)
      return [name === 'threshold' ? crossing(safe, thresholds) : safe]
    })
    if (own.length > 0) emitters[name] = (event: never) => own.forEach((tell) => tell(event))
  }
  const problem = (emitters['problem'] ?? logged) as (problem: Problem) => void
  return { ...emitters, problem: throttled(problem, clock) }
}

function guarded(name: string, listener: (event: unknown) => unknown): (event: unknown) => void {
  const failed = (error: unknown): void => console.error(`A listener of "${name}" failed:`, error)
  return (event) => {
    try {
      // A listener may well be async, and nobody waits for it.
      const done = listener(event)
      if (done instanceof Promise) done.catch(failed)
    } catch (error) {
      failed(error)
    }
  }
}

/** Tells of each threshold that a charge has brought a policy past. */
function crossing(
  tell: (event: unknown) => void,
  thresholds: readonly number[],
): (event: never) => void {
  return ({ policy, subject, most }: Parameters<Emitters['threshold'] & object>[0]) => {
    for (const threshold of crossedThresholds(most, policy, thresholds)) {
      tell({ policy, subject, threshold })
    }
  }
}

/** The thresholds that a charge of `cost` has brought a count past that can hold `most` units. */
function crossedThresholds(
  most: number,
  { remaining, cost }: PolicyState,
  thresholds: readonly number[],
): number[] {
  const after = most - remaining
  // Divided, as 0.55 is the number nearest to 55/100, and 0.55 * 100 is more than 55.
  return thresholds.filter((share) => after / most >= share && (after - cost) / most < share)
}

function report(
  events: Emitters,
  subject: Subject,
  { decision, entries }: Parameters<Seam['report']>[2],
): void {
  events.decision?.({ decision, subject })
  if (decision.degraded) events.degraded?.({ degraded: decision.degraded, subject })
  if (!events.shadow && !events.threshold) return
  for (const [index, policy] of decision.policies.entries()) {
    if (!policy.fits && !policy.enforced) events.shadow?.({ policy, subject })
    const most = entries[index]?.burst ?? 0
    if (policy.charged && policy.fits) events.threshold?.({ policy, subject, most })
  }
}

function observed(store: Store, tell: (event: LimiterEvents['storeCall']) => void): Store {
  async function timed<T>(
    call: LimiterEvents['storeCall']['call'],
    run: () => Promise<T>,
  ): Promise<T> {
    const startedAt = systemClock()
    try {
      const result = await run()
      tell({ call, durationMs: systemClock() - startedAt })
      return result
    } catch (error) {
      tell({ call, durationMs: systemClock() - startedAt, error })
      throw error
    }
  }
  return {
    check: (request) => timed('check', () => store.check(request)),
    run: (operation) => timed('run', () => store.run(operation)),
    reset: (keys) => timed('reset', () => store.reset(keys)),
  }
}
