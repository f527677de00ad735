import { ANY, compileSegment, type Segment } from './segment.ts'

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
  const add = (segment: Segment): Pattern[] =>
    patterns.map(({ head, tail }) =>
      tail ? { head, tail: [...tail, segment] } : { head: [...head, segment], tail },
    )
  const texts = path.split('/').filter((text) => text !== '')
  for (const [index, text] of texts.entries()) {
    const isDeep = ANY_DEPTH.test(text) || (text === '*' && index === texts.length - 1)
    const isBelow = ONE_OR_MORE.test(text)
    if (isDeep || isBelow) {
      if (patterns.some(({ tail }) => tail)) return undefined
      if (isBelow) patterns = add(ANY)
      patterns = patterns.map(({ head }) => ({ head, tail: [] }))
      continue
    }
    const optional = OPTIONAL.test(text)
    const segment = compileSegment(optional ? text.replace(/^\{|\}?\?$/g, '') : text)
    if (segment === undefined) return undefined
    patterns = optional ? [...add(segment), ...patterns] : add(segment)
  }
  return patterns
}

/** Any number of segments, as routers write it: `**`, `:path*`, `(.*)`, `:path(.*)`, `{*path}`. */
const ANY_DEPTH = /^(?:\*\*|:\w+\*|(?::\w+)?\(\.\*\)|\{\*\w+\})$/

/** One segment or more: `:path+`, `(.+)`, `:path(.+)`, `*path`, `**:path`. */
const ONE_OR_MORE = /^(?::\w+\+|(?::\w+)?\(\.\+\)|\*\w+|\*\*:\w+)$/

const OPTIONAL = /^(?::\w+(?:\([^()]+\))?|\{[^{}]+\})\?$/

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
