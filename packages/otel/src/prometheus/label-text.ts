import { LABELS, type Labels } from '../names.ts'

/** The names of labels, as Prometheus allows them. */
const NAMES: readonly (readonly [keyof Labels, string])[] = Object.entries(LABELS).map(
  ([label, name]) => [label as keyof Labels, name.replaceAll('.', '_')],
)

/** Returns labels as the text format has them, without braces: `rate_limiter_route="chat"`. */
export function labelText(labels: Labels): string {
  let text = ''
  for (const [label, name] of NAMES) {
    const value = labels[label]
    if (value !== undefined) text += `${text && ','}${name}="${escape(value)}"`
  }
  return text
}

const ESCAPES: Readonly<Record<string, string>> = { '\\': '\\\\', '"': '\\"', '\n': '\\n' }

const escape = (value: string): string =>
  value.replace(/[\\"\n]/g, (character) => ESCAPES[character] ?? '')
