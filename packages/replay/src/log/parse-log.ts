import type { Fault, Row, Rows, TextChunks } from './row.ts'
import { invalidOption } from '@sluice/core/internal'
import { parse } from 'csv-parse/browser/esm/sync'
import { csvOptions, type ParsedRow } from './csv-options.ts'
import { readLog, type LogOptions, type ParsedLog } from './read-log.ts'

/** The characters at the beginning that tell the format and the columns of CSV. */
const START_LENGTH = 65_536

export type { Call, CallSum } from '../call.ts'
export type { LogFacts } from './facts.ts'
export type { LogFormat } from './formats.ts'
export type { LogOptions, ParsedLog } from './read-log.ts'

/**
 * Reads a log that is a text, in a browser, too: this entry needs no Node.js.
 *
 * @throws ConfigError When an option is invalid, or the log is empty or lacks a column.
 * @example
 * const log = await parseLog(await file.text())
 * for await (const call of log.calls()) console.log(call.at, call.subject.tenant)
 */
export async function parseLog(text: string, options: LogOptions = {}): Promise<ParsedLog> {
  if (text.trim() === '') throw invalidOption('log', 'is empty')
  const start = text.slice(0, START_LENGTH)
  return readLog({ start, open: () => chunksOf(text), readCsv: readWholeCsv }, options)
}

async function* chunksOf(text: string): TextChunks & AsyncGenerator<string> {
  yield text
}

async function* readWholeCsv(
  chunks: TextChunks,
  delimiter: string,
): Rows & AsyncGenerator<Row | Fault> {
  let text = ''
  for await (const chunk of chunks) text += chunk
  const faults: Fault[] = []
  const rows = parse(text, csvOptions(delimiter, faults)) as unknown as readonly ParsedRow[]
  yield* faults
  for (const { record, info } of rows) yield { line: info.lines, values: record }
}
