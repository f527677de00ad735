import type { ReactNode } from 'react'
import type { WayResult } from '../../lib/overspend/compare'

/** Formats micro-dollars as dollars and cents. */
const dollars = (micro: number): string => `$${(micro / 1_000_000).toFixed(2)}`

interface WayCardProps {
  readonly title: string
  readonly text: string
  /** The result, after a run. */
  readonly result: WayResult | undefined
  /** The values that fill a whole bar. */
  readonly scale: { readonly overspend: number; readonly falselyRefused: number }
}

/** One way to hold a budget, and its mistakes as two bars. */
export function WayCard({ title, text, result, scale }: WayCardProps): ReactNode {
  return (
    <li className="card way">
      <h2>{title}</h2>
      <p>{text}</p>
      <Bar
        label={`Overspend, ${title}`}
        name="Overspend"
        value={result?.overspend}
        max={scale.overspend}
        format={dollars}
      />
      <Bar
        label={`False refusals, ${title}`}
        name="False refusals"
        value={result?.falselyRefused}
        max={scale.falselyRefused}
        format={String}
      />
      <p className="hint">{result ? summary(result) : 'Not run yet.'}</p>
    </li>
  )
}

interface BarProps {
  readonly label: string
  readonly name: string
  readonly value: number | undefined
  readonly max: number
  readonly format: (value: number) => string
}

function Bar({ label, name, value, max, format }: BarProps): ReactNode {
  const text = value === undefined ? '–' : format(value)
  return (
    <>
      <div className="bar-label">
        <span>{name}</span>
        <strong>{text}</strong>
      </div>
      <div
        role="meter"
        aria-label={label}
        aria-valuemin={0}
        aria-valuemax={max}
        aria-valuenow={value ?? 0}
        aria-valuetext={value === undefined ? 'not run yet' : text}
        className="bar mistakes"
      >
        <div style={{ width: `${(100 * (value ?? 0)) / max}%` }} />
      </div>
    </>
  )
}

function summary({ answered, shortened, refused, billed }: WayResult): string {
  const cut = shortened > 0 ? ` (${shortened} cut short)` : ''
  return `${answered} answered${cut}, ${refused} refused, ${dollars(billed)} billed.`
}
