import type { Fault, Row, TextChunks } from './row.ts'

/** The longest line that is read, in characters. */
export const MAX_LINE = 1_000_000

export interface Line {
  readonly line: number
  readonly text: string
}

/**
 * Splits a text into lines and numbers them from 1. Blank lines are left out, longer ones are faults. Those of one chunk
 * come together: a step for each line would cost more than reading it.
 */
export async function* linesOf(
  chunks: TextChunks,
  maxLine: number = MAX_LINE,
): AsyncGenerator<readonly (Line | Fault)[]> {
  let line = 0
  let rest = ''
  let isTooLong = false
  const next = (text: string): Line | Fault | undefined => {
    line += 1
    const wasTooLong = isTooLong
    isTooLong = false
    if (wasTooLong) return { line, reason: `the line is longer than ${maxLine} characters` }
    const trimmed = text.trim()
    return trimmed === '' ? undefined : { line, text: trimmed }
  }
  for await (const chunk of chunks) {
    const [first = '', ...parts] = chunk.split('\n')
    parts.unshift(rest + first)
    rest = parts.pop() ?? ''
    yield parts.flatMap((part) => next(part) ?? [])
    if (rest.length > maxLine) [rest, isTooLong] = ['', true]
  }
  const last = next(rest)
  if (last) yield [last]
}

/** The values of a line, or the reason for which it has none. */
export type ParsedLine = Omit<Row, 'line'> | Omit<Fault, 'line'>

/** Reads the rows of a format that has one in each line. */
export async function* lineRows(
  chunks: TextChunks,
  parse: (text: string) => ParsedLine,
): AsyncGenerator<Row | Fault> {
  for await (const items of linesOf(chunks)) {
    for (const item of items) yield 'reason' in item ? item : rowOf(item, parse)
  }
}

function rowOf({ line, text }: Line, parse: (text: string) => ParsedLine): Row | Fault {
  const parsed = parse(text)
  return 'values' in parsed ? { line, values: parsed.values } : { line, reason: parsed.reason }
}
