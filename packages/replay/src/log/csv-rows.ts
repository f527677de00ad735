import type { Fault, Row, Rows, TextChunks } from './row.ts'
import { Readable } from 'node:stream'
import { parse } from 'csv-parse'
import { csvOptions, type ParsedRow } from './csv-options.ts'

/** Reads CSV by a stream of Node.js, which holds a part of a long log only. */
export async function* csvRows(
  chunks: TextChunks,
  delimiter: string,
): Rows & AsyncGenerator<Row | Fault> {
  const faults: Fault[] = []
  const parser = parse(csvOptions(delimiter, faults))
  const stream = Readable.from(chunks)
  // An error of the file is one of the parser: pipe alone would leave the reader waiting.
  stream.on('error', (error) => parser.destroy(error))
  for await (const { record, info } of stream.pipe(parser) as AsyncIterable<ParsedRow>) {
    yield* faults.splice(0)
    yield { line: info.lines, values: record }
  }
  yield* faults
}
