import type { ReactNode } from 'react'
import type { ProblemView, View } from '../view.ts'
import { problemText, timeOf } from './words.ts'

const SHOWN = 5

/** The problems that limiters have reported, the latest first. Nothing if there are none. */
export function Problems({ view }: { readonly view: View | undefined }): ReactNode {
  const problems = [...grouped(view?.problems)]
  if (problems.length === 0) return null
  return (
    <section className="sluice-card" aria-labelledby="sluice-problems">
      <h3 id="sluice-problems">Problems that were reported</h3>
      <ul className="sluice-problems">
        {problems.slice(0, SHOWN).map(([text, { at, count }]) => (
          <li key={text}>
            <time>{timeOf(at)}</time> {text}
            {count > 1 && ` (${count} times)`}
          </li>
        ))}
      </ul>
      <p className="sluice-hint">The log has the details.</p>
    </section>
  )
}

/** Adds up problems that the page has the same words for. */
function grouped(problems: readonly ProblemView[] = []): Map<string, ProblemView> {
  const groups = new Map<string, ProblemView>()
  for (const problem of problems) {
    const text = problemText(problem)
    const latest = groups.get(text) ?? { ...problem, count: 0 }
    groups.set(text, { ...latest, count: latest.count + problem.count })
  }
  return groups
}
