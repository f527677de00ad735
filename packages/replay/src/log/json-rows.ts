import type { Readable } from 'node:stream'
import type { Fault, Row } from './row.ts'
import { linesOf } from './lines.ts'

/** Reads JSON lines: one object in each line. Nested values have names such as `usage.prompt_tokens`. */
export async function* jsonRows(stream: Readable): AsyncGenerator<Row | Fault> {
  for await (const item of linesOf(stream)) {
    if ('reason' in item) yield item
    else yield { line: item.line, ...parse(item.text) }
  }
}

/** Returns the names that the objects at the beginning of a log have. The last line may be cut off. */
export function jsonNames(start: string): string[] {
  const found = start.split('\n').map(parse)
  return [...new Set(found.flatMap((item) => ('values' in item ? Object.keys(item.values) : [])))]
}

function parse(text: string): Omit<Row, 'line'> | Omit<Fault, 'line'> {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return { reason: 'the line is not JSON' }
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
    return { values: flatten(value as Record<string, unknown>) }
  }
  return { reason: 'the line is not a JSON object' }
}

/** Names nested values by their path. Deeper ones than a few levels are left out. */
function flatten(value: Record<string, unknown>, prefix = '', depth = 4): Record<string, unknown> {
  const flat: Record<string, unknown> = Object.create(null) as Record<string, unknown>
  for (const [name, part] of Object.entries(value)) {
    if (typeof part !== 'object' || part === null) flat[prefix + name] = part
    else if (depth > 1) {
      Object.assign(flat, flatten(part as Record<string, unknown>, `${prefix}${name}.`, depth - 1))
    }
  }
  return flat
}
