import type { Readable } from 'node:stream'
import type { Rows, Row, Fault } from './row.ts'
import { parse, type CsvError } from 'csv-parse'
import { MAX_LINE } from './lines.ts'

interface ParsedRow {
  readonly record: Readonly<Record<string, string>>
  readonly info: { readonly lines: number }
}

/** Reads CSV whose first line names the columns. A row with an error is a fault, and reading goes on. */
export async function* csvRows(
  stream: Readable,
  delimiter: string,
): Rows & AsyncGenerator<Row | Fault> {
  const faults: Fault[] = []
  const parser = parse({
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
  // An error of the file is one of the parser: pipe alone would leave the reader waiting.
  stream.on('error', (error) => parser.destroy(error))
  for await (const { record, info } of stream.pipe(parser) as AsyncIterable<ParsedRow>) {
    yield* faults.splice(0)
    yield { line: info.lines, values: record }
  }
  yield* faults
}

function faultOf(error: CsvError | undefined): Fault {
  const line = Number(error?.['lines'] ?? 0)
  return { line, reason: error?.message ?? 'the line is malformed' }
}
