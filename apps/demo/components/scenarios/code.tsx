import { useId, useRef, useState, type KeyboardEvent, type ReactNode } from 'react'
import type { ShownScenario } from './shown-scenario'

/** Tabs with the story of a scenario, and the files that send its traffic and that limit it. */
export function Code({ scenario }: { scenario: ShownScenario }): ReactNode {
  const [open, setOpen] = useState(0)
  const id = useId()
  const tabs = useRef<(HTMLButtonElement | null)[]>([])
  const { title, story, traffic, limits } = scenario
  const panels = [
    { name: 'What happens', content: <p>{story}</p> },
    { name: 'Its traffic', content: <Source {...traffic} /> },
    { name: 'Its limits', content: <Source {...limits} /> },
  ]

  function onKey({ key }: KeyboardEvent): void {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[key]
    if (step === undefined) return
    const next = (open + step + panels.length) % panels.length
    setOpen(next)
    tabs.current[next]?.focus()
  }

  return (
    <>
      <div role="tablist" aria-label={title} className="tabs">
        {panels.map(({ name }, index) => (
          <button
            key={name}
            ref={(element) => void (tabs.current[index] = element)}
            type="button"
            role="tab"
            id={`${id}-tab-${index}`}
            aria-selected={index === open}
            aria-controls={`${id}-panel`}
            tabIndex={index === open ? 0 : -1}
            onClick={() => setOpen(index)}
            onKeyDown={onKey}
          >
            {name}
          </button>
        ))}
      </div>
      <div role="tabpanel" id={`${id}-panel`} aria-labelledby={`${id}-tab-${open}`}>
        {panels[open]?.content}
      </div>
    </>
  )
}

const Source = ({ path, text }: { path: string; text: string }): ReactNode => (
  <figure className="source">
    <figcaption>
      <code>apps/demo/{path}</code>
    </figcaption>
    <pre tabIndex={0} aria-label={path}>
      {text}
    </pre>
  </figure>
)
