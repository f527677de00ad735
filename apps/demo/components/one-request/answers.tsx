import type { ReactNode } from 'react'
import type { Answer } from './api'
import { duration } from './duration'
import { outcomeOf } from './outcome'

/** The number of answers with each outcome, and the list of answers. */
export function Answers({ answers }: { answers: readonly Answer[] }): ReactNode {
  const counts = new Map<string, { tone: string; count: number }>()
  for (const answer of answers) {
    const { text, tone } = outcomeOf(answer)
    counts.set(text, { tone, count: (counts.get(text)?.count ?? 0) + 1 })
  }
  return (
    <>
      <ul className="counts" aria-label="Outcomes">
        {[...counts].map(([text, { tone, count }]) => (
          <li key={text} className={`count ${tone}`}>
            <strong>{count}</strong> {text}
          </li>
        ))}
      </ul>
      <ol className="answers">
        {answers.map((answer) => (
          <li key={answer.id}>
            <AnswerRow {...answer} />
          </li>
        ))}
      </ol>
    </>
  )
}

function AnswerRow(answer: Answer): ReactNode {
  const { route, status, ms, headers, text } = answer
  const outcome = outcomeOf(answer)
  const values = new Map(headers)
  const retryAfter = values.get('retry-after')
  const remaining = values.get('x-ratelimit-remaining')
  return (
    <details className="answer">
      <summary>
        <span className={`status ${outcome.tone}`}>{status}</span>
        <span className="outcome">{outcome.text}</span>
        <span className="route">{route}</span>
        <span className="note">
          {retryAfter ? `retry in ${duration(1000 * Number(retryAfter))}` : null}
          {remaining && !retryAfter ? `${remaining} left` : null}
        </span>
        <span className="ms">{ms} ms</span>
      </summary>
      <dl>
        {headers.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      <p>{text}</p>
    </details>
  )
}
