import { attempt } from '../internal/attempt.ts'

/** One segment of a pattern: literal text, an expression for a part of it, or any one segment. */
export type Segment = string | RegExp | typeof ANY

export const ANY = null

/** One part of a segment: an escape, a parameter, a group, optional text, or literal text. */
const PART =
  /\\(.)|:[a-z_]\w*(?:\(([^()]+)\)|(?![\w{-]))|\(([^()]+)\)|\{([^{}:*()\\?+[\]]+)\}\?|[^\\:*(){}?+[\]]+/giy

/**
 * An expression that matches no slash, because a segment has none: letters, digits, escaped signs, classes
 * of them and quantifiers. Routers let any other expression match several segments.
 */
const WITHIN_SEGMENT =
  /^(?:\\[dw.~-]|[\w~|+?*-]|\[(?:\\[dw.~-]|\w(?:-\w)?|[.~])+-?\]|\{\d+(?:,\d*)?\})+$/

/** Compiles one segment; `undefined` if it is malformed, or means something else to a router. */
export function compileSegment(text: string): Segment | undefined {
  if (/^:[a-z_]\w*$/i.test(text)) return ANY
  let [literal, source, open, end]: [string | undefined, string, number, number] = ['', '', 0, 0]
  for (const [part, escape, constraint, group, optional] of text.matchAll(PART)) {
    end += part.length
    const expression = constraint ?? group
    if (expression !== undefined || part.startsWith(':')) {
      // A group around a mere word is the name of a folder in Next.js and SvelteKit.
      const isFolder = group !== undefined && /^[\w-]+$/.test(group)
      if (isFolder || (expression && !WITHIN_SEGMENT.test(expression))) return undefined
      open += 1
      literal = undefined
      source += `(?:${expression ?? '.+'})`
      continue
    }
    const plain = (escape ?? optional ?? part).toLowerCase()
    if (optional !== undefined) literal = undefined
    else if (literal !== undefined) literal += plain
    const quoted = plain.replace(/[^\w\s]/g, '\\$&')
    source += optional === undefined ? quoted : `(?:${quoted})?`
  }
  // Two open parts could match the same text, and matching would not be linear.
  if (end !== text.length || open > 1) return undefined
  if (literal !== undefined) return literal
  const expression = attempt(() => new RegExp(`^${source}$`, 's'), undefined)
  return expression?.test('') ? undefined : expression
}
