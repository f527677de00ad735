import { invalidOption } from '@sluice/core/internal'
import type { Rows, TextChunks } from './row.ts'
import { parse } from 'csv-parse/browser/esm/sync'
import { accessRows, albRows, isAccessLine, isAlbLine } from './access-rows.ts'
import { jsonArrayRows, jsonRows } from './json-rows.ts'
import { otlpRows, spanKindOf, type SpanKind } from './otlp-rows.ts'

/** The formats of logs. */
export const FORMATS = ['csv', 'jsonl', 'json', 'otlp', 'access', 'alb'] as const

/** The format of a log. */
export type LogFormat = (typeof FORMATS)[number]

/** Recognises the format of a log by its first line. */
export function detectFormat(start: string): LogFormat {
  const text = start.trimStart()
  const line = text.split('\n', 1)[0] ?? ''
  if (/^\{\s*"resourceSpans"/.test(line)) return 'otlp'
  if (line.startsWith('{')) return 'jsonl'
  if (/^\[\s*[{\]]/.test(text)) return 'json'
  return isAlbLine(line) ? 'alb' : isAccessLine(line) ? 'access' : 'csv'
}

/** The rows at the beginning of a log whose names are read, if each may have others. */
const NAMED_ROWS = 1_000

/** A log's columns, and how to read its rows. */
export interface LogShape {
  readonly names: readonly string[]
  readonly rows: (chunks: TextChunks) => Rows
}

/** Reads CSV whose first line that is not blank names the columns. A row with an error is a fault, and reading goes on. */
export type ReadCsv = (chunks: TextChunks, delimiter: string) => Rows

/** Finds out what columns a log has. @param open Opens the log from its beginning. */
export async function shapeOf(
  open: () => TextChunks,
  start: string,
  format: LogFormat,
  delimiter: string,
  readCsv: ReadCsv,
): Promise<LogShape> {
  if (format === 'csv') {
    return { names: csvNames(start, delimiter), rows: (chunks) => readCsv(chunks, delimiter) }
  }
  const kind: SpanKind | undefined = format === 'otlp' ? await spanKindOf(open()) : undefined
  const rows = {
    jsonl: jsonRows,
    json: jsonArrayRows,
    otlp: (chunks: TextChunks): Rows => otlpRows(chunks, kind),
    access: accessRows,
    alb: albRows,
  }[format]
  const names = new Set<string>()
  let count = 0
  for await (const row of rows(open())) {
    if ('values' in row) for (const name of Object.keys(row.values)) names.add(name)
    if ((count += 1) === NAMED_ROWS) break
  }
  return { names: [...names], rows }
}

function csvNames(start: string, delimiter: string): readonly string[] {
  try {
    return (
      parse(start, { bom: true, delimiter, skip_empty_lines: true, to: 1, trim: true })[0] ?? []
    )
  } catch {
    // The parser's own error quotes the line.
    throw invalidOption('log', 'has no line of column names. If it is not CSV, set "format"')
  }
}
