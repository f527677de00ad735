/** One segment of a pattern: literal text, an expression for a part of it, or any one segment. */
type Segment = string | RegExp | typeof ANY

const ANY = null

/** A compiled pattern. */
export interface Pattern {
  /** Segments before `**`, or all of them. */
  readonly head: readonly Segment[]
  /** Segments after `**`; `undefined` without one. */
  readonly tail: readonly Segment[] | undefined
}

/**
 * Compiles a pattern into one for each choice of its optional segments; `undefined` if it is malformed.
 * Literal text is converted to lower case.
 */
export function compilePattern(path: string): Pattern[] | undefined {
  let patterns: Pattern[] = [{ head: [], tail: undefined }]
  const texts = path.split('/').filter((text) => text !== '')
  for (const [index, text] of texts.entries()) {
    // At the end, `*` matches the same as `**`.
    if (text === '**' || (text === '*' && index === texts.length - 1)) {
      if (patterns.some(({ tail }) => tail)) return undefined
      patterns = patterns.map(({ head }) => ({ head, tail: [] }))
      continue
    }
    const optional = OPTIONAL.test(text)
    const segment = compileSegment(optional ? text.slice(0, -1) : text)
    if (segment === undefined) return undefined
    const longer = patterns.map(({ head, tail }) =>
      tail ? { head, tail: [...tail, segment] } : { head: [...head, segment], tail },
    )
    patterns = optional ? [...longer, ...patterns] : longer
  }
  return patterns
}

const OPTIONAL = /^(?::\w+(?:\([^()]+\))?|\{[^{}]+\})\?$/

/** One part of a segment: an escape, a parameter, `*`, a group, an optional part, or literal text. */
const PART =
  /\\(.)|:[a-z_]\w*(?:\(([^()]+)\))?|\*|\(([^()]+)\)|\{([^{}:*()\\]+)\}(\??)|[^\\:*(){}?]+/giy

function compileSegment(text: string): Segment | undefined {
  if (/^(\*|:[a-z_]\w*)$/i.test(text)) return ANY
  let [literal, source, open, end]: [string | undefined, string, number, number] = ['', '', 0, 0]
  for (const [part, escape, constraint, group, words, optional] of text.matchAll(PART)) {
    end += part.length
    const expression = constraint ?? group ?? (part === '*' ? '.*' : part.startsWith(':') && '.+')
    if (expression) {
      open += 1
      literal = undefined
      source += `(?:${expression})`
      continue
    }
    const plain = (escape ?? words ?? part).toLowerCase()
    if (optional) literal = undefined
    else if (literal !== undefined) literal += plain
    const quoted = plain.replace(/[^\w\s]/g, '\\$&')
    source += optional ? `(?:${quoted})?` : quoted
  }
  // Two open parts could match the same text, and matching would not be linear.
  if (end !== text.length || open > 1) return undefined
  if (literal !== undefined) return literal
  try {
    return new RegExp(`^${source}$`, 's')
  } catch {
    return undefined
  }
}

/** Returns true if a pattern matches these segments of a path. Reads each segment once. */
export function matches(
  { head, tail = [], tail: deep }: Pattern,
  path: readonly string[],
): boolean {
  const spare = path.length - head.length - tail.length
  return (
    (deep ? spare >= 0 : spare === 0) &&
    head.every((segment, index) => fits(segment, path[index])) &&
    tail.every((segment, index) => fits(segment, path[head.length + spare + index]))
  )
}

function fits(segment: Segment, text = ''): boolean {
  return segment === ANY || (typeof segment === 'string' ? segment === text : segment.test(text))
}

/** Sorts the more specific pattern first: the first segment that differs decides, the narrower one wins. */
export function bySpecificity(first: Pattern, second: Pattern): number {
  const [a, b] = [ranks(first), ranks(second)]
  const differences = (a.length > b.length ? a : b).map(
    (_, index) => (a[index] ?? END) - (b[index] ?? END),
  )
  return differences.find((difference) => difference !== 0) ?? 0
}

/** A pattern that ends is more specific than one that continues with `**`, and less than any other. */
const [END, DEEP] = [3, 4]

function ranks({ head, tail }: Pattern): number[] {
  return [...head.map(rank), ...(tail ? [DEEP, ...tail.map(rank)] : [])]
}

function rank(segment: Segment): number {
  if (segment === ANY) return 2
  return typeof segment === 'string' ? 0 : 1 + 1 / segment.source.length
}

/** Describes patterns. Two descriptions are equal if the patterns match the same paths. */
export function shapeOf(patterns: readonly Pattern[]): string {
  const shapes = patterns.map(({ head, tail }) =>
    [...head, ...(tail ? ['**', ...tail] : [])].map((segment) => `/${segment ?? ''}`).join(''),
  )
  return shapes.join(' ')
}

/** Returns true if a segment of the pattern matches more than one text. */
export function isOpen({ head, tail = [] }: Pattern): boolean {
  return [...head, ...tail].some((segment) => typeof segment !== 'string')
}
