import type { Clock } from '../clock.ts'
import type { Problem } from './events.ts'

/** Reports a name that is no plan's. Cut short: it may come from outside. */
export function unknownPlan(name: unknown, source: 'subject' | 'resolver' = 'subject'): Problem {
  const shown = typeof name === 'string' ? JSON.stringify(name.slice(0, 64)) : typeof name
  const message = `No plan is named ${shown}; the last known or the default plan applies`
  return { code: 'unknown_plan', source, message }
}

/** Passes a problem on once a minute, and of one kind at most a hundred (unknown names: ten). */
export function throttled(
  tell: (problem: Problem) => void,
  clock: Clock,
): (problem: Problem) => void {
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

/** Tells of a problem where nobody listens. */
export function logged({ message, error }: Problem): void {
  if (error === undefined) console.error(message)
  else console.error(message, error)
}
