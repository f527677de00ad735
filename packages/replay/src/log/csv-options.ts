import type { Fault } from './row.ts'
import { MAX_LINE } from './lines.ts'

/** A row, as the parser returns it by these options. */
export interface ParsedRow {
  readonly record: Readonly<Record<string, string>>
  readonly info: { readonly lines: number }
}

/** A row that the parser skips. */
interface SkippedRow {
  readonly message: string
  readonly lines?: unknown
}

interface CsvOptions {
  readonly bom: true
  readonly columns: true
  readonly delimiter: string
  readonly info: true
  readonly max_record_size: number
  readonly skip_empty_lines: true
  readonly skip_records_with_error: true
  readonly trim: true
  readonly on_skip: (error: SkippedRow | undefined) => undefined
}

/**
 * Returns the options of the parser, for CSV whose first line that is not blank names the columns. It adds the rows that
 * it skips to `faults`.
 */
export const csvOptions = (delimiter: string, faults: Fault[]): CsvOptions => ({
  bom: true,
  columns: true,
  delimiter,
  info: true,
  max_record_size: MAX_LINE,
  skip_empty_lines: true,
  skip_records_with_error: true,
  trim: true,
  on_skip: (error) => void faults.push(faultOf(error)),
})

function faultOf(error: SkippedRow | undefined): Fault {
  const line = Number(error?.lines ?? 0)
  return { line, reason: error?.message ?? 'the line is malformed' }
}
