import type { Clock } from '../clock.ts'
import type { Problem } from './events.ts'

/** Returns the problem of an unknown plan. Shows only the start of its name, which may come from outside. */
export function unknownPlan(name: unknown, source: 'subject' | 'resolver' = 'subject'): Problem {
  const shown = typeof name === 'string' ? JSON.stringify(name.slice(0, 64)) : typeof name
  const message = `No plan is named ${shown}; the last known or default plan applies`
  return { code: 'unknown_plan', source, message }
}

/**
 * Passes each problem on once a minute, and a hundred of one kind at most: ten unknown plans, one fault of
 * the store. That the store answers again is passed on once after faults that were.
 */
export function throttleProblems(
  emit: (problem: Problem) => void,
  clock: Clock,
): (problem: Problem) => void {
  const kinds: Record<string, Map<string, number>> = {}
  let isStoreFailing = false
  return (problem) => {
    const { code, source, place, message } = problem
    if (code === 'store_recovered') {
      if (isStoreFailing) emit(problem)
      isStoreFailing = false
      return
    }
    const now = clock()
    // Counted by kind, so that a flood of names from outside does not hide other problems.
    const times = (kinds[code + source + place] ??= new Map())
    // The absolute difference, because a clock may be set back.
    for (const [text, at] of times) if (Math.abs(now - at) >= 60_000) times.delete(text)
    const most = code.startsWith('store') ? 1 : source ? 10 : 100
    if (times.has(message) || times.size >= most) return
    times.set(message, now)
    isStoreFailing ||= code.startsWith('store')
    emit(problem)
  }
}

/**
 * Logs a problem by `console.error`, as a limiter does without a listener for `problem`. Call it in such a
 * listener to keep the log.
 *
 * @example
 * listen({
 *   problem(problem) {
 *     logProblem(problem)
 *     count(problem.code)
 *   },
 * })
 */
export function logProblem({ message, error }: Problem): void {
  // The text of an error of ours begins with our name already.
  const line = message.replace(/^(Sluice: )?/, 'Sluice: ')
  console.error(line, ...(error === undefined ? [] : [error]))
}
