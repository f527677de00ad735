import type { TextChunks } from './row.ts'
import { openBytes, readStart } from './bytes.ts'
import { csvRows } from './csv-rows.ts'
import { readLog, type LogOptions, type ParsedLog } from './read-log.ts'

/** A log of a file. */
export interface Log extends ParsedLog {
  readonly path: string
}

/**
 * Opens a log, or its gzip (`.gz`).
 *
 * @throws ConfigError When an option is invalid, or the log lacks a column.
 * @example
 * const log = await openLog('requests.csv', { columns: { tenant: 'org_id' } })
 * for await (const call of log.calls()) console.log(call.at, call.subject.tenant)
 */
export async function openLog(path: string, options: LogOptions = {}): Promise<Log> {
  const start = await readStart(path)
  const open = (onProgress?: (share: number) => void): TextChunks =>
    openBytes(path, onProgress).setEncoding('utf8')
  const log = await readLog({ start, open, readCsv: csvRows }, options)
  const { format, spreadMs, sums } = log
  return {
    path,
    format,
    spreadMs,
    sums,
    calls: (onProgress) => log.calls(onProgress),
    get facts() {
      return log.facts
    },
  }
}
