import type { Fault, Row, Rows, TextChunks } from './row.ts'
import { lineRows, MAX_LINE, type ParsedLine } from './lines.ts'
import { parseJson } from '@sluice/core/internal/limiter'

/** Reads JSON lines: one object in each line. Nested values have names such as `usage.prompt_tokens`. */
export const jsonRows = (chunks: TextChunks): Rows => lineRows(chunks, rowOf)

/** Reads an array of JSON objects, one after the other, as Vercel's drains and exports write it. */
export async function* jsonArrayRows(chunks: TextChunks): AsyncGenerator<Row | Fault> {
  let line = 1
  let first = 1
  let text = ''
  let depth = 0
  let isText = false
  let isEscaped = false
  for await (const chunk of chunks) {
    let from = 0
    for (let at = 0; at < chunk.length; at += 1) {
      const character = chunk[at]
      if (character === '\n') line += 1
      if (isText) {
        if (isEscaped) isEscaped = false
        else if (character === '\\') isEscaped = true
        else if (character === '"') isText = false
      } else if (character === '"') isText = true
      else if (character === '{' || character === '[') {
        depth += 1
        if (depth === 2) [text, from, first] = ['', at, line]
      } else if (character === '}' || character === ']') {
        depth -= 1
        if (depth === 1) yield { line: first, ...rowOf(text + chunk.slice(from, at + 1)) }
      }
    }
    if (depth > 1 && text.length <= MAX_LINE) text += chunk.slice(from)
  }
  if (depth > 0) yield { line: first, reason: 'the array ends within an object' }
}

function rowOf(text: string): ParsedLine {
  const value = parseJson(text)
  if (value === undefined) return { reason: 'the line is not JSON' }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
    const values = value as Record<string, unknown>
    return { values: isFlat(values) ? values : flatten(values) }
  }
  return { reason: 'the line is not a JSON object' }
}

/** True for most lines, which need no copy. */
function isFlat(values: Record<string, unknown>): boolean {
  for (const name in values) if (typeof values[name] === 'object') return false
  return true
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
