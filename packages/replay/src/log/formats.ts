import type { Readable } from 'node:stream'
import type { Rows } from './row.ts'
import { parse } from 'csv-parse/sync'
import { accessRows, isAccessLine } from './access-rows.ts'
import { csvRows } from './csv-rows.ts'
import { jsonNames, jsonRows } from './json-rows.ts'

/** The formats of logs. */
export const FORMATS = ['csv', 'jsonl', 'access'] as const

/** The format of a log. */
export type LogFormat = (typeof FORMATS)[number]

/** Recognises the format of a log by its first line. */
export function detectFormat(start: string): LogFormat {
  const line = start.trimStart().split('\n', 1)[0] ?? ''
  if (line.startsWith('{')) return 'jsonl'
  return isAccessLine(line) ? 'access' : 'csv'
}

/** Returns the names of the columns, as the beginning of the log has them. */
export function namesIn(start: string, format: LogFormat, delimiter: string): string[] {
  if (format === 'jsonl') return jsonNames(start)
  if (format === 'access')
    return ['ip', 'user', 'tenant', 'time', 'method', 'route', 'status', 'bytes']
  const [names = []] = parse(start, { bom: true, delimiter, to_line: 1, trim: true })
  return names
}

/** Reads the rows of a log. */
export function rowsOf(stream: Readable, format: LogFormat, delimiter: string): Rows {
  if (format === 'csv') return csvRows(stream, delimiter)
  return format === 'jsonl' ? jsonRows(stream) : accessRows(stream)
}
