import type { ReactNode } from 'react'
import type { View } from '../view.ts'

/** Findings to look at, each a sentence with its evidence. Nothing if nobody looks for findings. */
export function Findings({ view }: { readonly view: View | undefined }): ReactNode {
  const findings = view?.findings
  if (!findings) return null
  return (
    <section className="sluice-card" aria-labelledby="sluice-findings">
      <h3 id="sluice-findings">Findings</h3>
      {findings.length === 0 ? (
        <p className="sluice-hint">Nothing unusual.</p>
      ) : (
        <ul className="sluice-findings">
          {findings.map(({ text }) => (
            <li key={text}>{text}</li>
          ))}
        </ul>
      )}
    </section>
  )
}
