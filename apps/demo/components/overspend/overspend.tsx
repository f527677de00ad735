'use client'

import { useState, type ReactNode } from 'react'
import type { Comparison, WayResult } from '../../lib/overspend/compare'
import { fetchComparison } from './api'
import { WayCard } from './way-card'

const WAYS: readonly { id: WayResult['id']; title: string; text: string }[] = [
  {
    id: 'check-then-count',
    title: 'Check, then count',
    text: 'Checks that the budget is not spent, calls the model, and counts the cost after the answer.',
  },
  {
    id: 'reserve-maximum',
    title: 'Reserve the maximum',
    text: 'Reserves the most that a call may cost and settles it after the answer: a call that breaks off keeps money that nobody uses.',
  },
  {
    id: 'reserve-and-fit',
    title: 'Reserve what fits',
    text: 'Reserves as much as fits and settles wherever the answer ends: only calls whose process died stay charged with their estimate.',
  },
]

/** Three ways to hold 200 streams to a budget, side by side. */
export function Overspend(): ReactNode {
  const [comparison, setComparison] = useState<Comparison>()
  const [status, setStatus] = useState('')
  const [isBusy, setBusy] = useState(false)

  async function run(): Promise<void> {
    setBusy(true)
    setStatus('Running: it takes a few seconds …')
    try {
      setComparison(await fetchComparison())
      setStatus('Done.')
    } catch (error) {
      setStatus(error instanceof Error ? error.message : 'The comparison failed.')
    }
    setBusy(false)
  }

  const largest = (key: 'overspend' | 'falselyRefused'): number =>
    Math.max(1, ...(comparison?.ways.map((way) => way[key]) ?? []))
  const scale = { overspend: largest('overspend'), falselyRefused: largest('falselyRefused') }
  return (
    <section className="overspend" aria-labelledby="overspend">
      <h1 id="overspend">200 streams on $1.00</h1>
      <p className="hint">
        The same 200 calls at once, with the tokens of a real service and a stand-in for the model.
        Together they cost more than twice the budget. Of 20 the reader leaves halfway, and of 4 the
        process dies. Refused calls ask again until no stream is left that could return money. A
        refusal is false if the money that was never used would have paid for the call.
      </p>
      <div className="buttons">
        <button type="button" disabled={isBusy} onClick={() => void run()}>
          Run 200 streams on $1.00
        </button>
        <p className="hint" role="status">
          {status}
        </p>
      </div>
      <ul className="ways" aria-busy={isBusy}>
        {WAYS.map(({ id, title, text }) => (
          <WayCard
            key={id}
            title={title}
            text={text}
            result={comparison?.ways.find((way) => way.id === id)}
            scale={scale}
          />
        ))}
      </ul>
    </section>
  )
}
