import type { DashboardRecord } from './record.ts'

/** Consecutive records of one source. Sent again, it changes nothing. */
export interface Batch {
  /** The id of the relay, which differs for each limiter of each process. */
  readonly source: string
  /** The number of the first record: the number of records that the source had before it. */
  readonly first: number
  readonly records: readonly DashboardRecord[]
}

/** The most characters of a batch that `dashboardHandler` takes. */
export const MAX_BATCH_LENGTH = 512_000

/** The characters of a batch without its records, at most. */
const ENVELOPE_LENGTH = 200

/** Splits a batch into batches that `dashboardHandler` takes. */
export function splitBatch({ source, first, records }: Batch): Batch[] {
  const batches: Batch[] = []
  let start = 0
  let length = ENVELOPE_LENGTH
  for (const [index, record] of records.entries()) {
    const added = JSON.stringify(record).length + 1
    if (index > start && length + added > MAX_BATCH_LENGTH) {
      batches.push({ source, first: first + start, records: records.slice(start, index) })
      start = index
      length = ENVELOPE_LENGTH
    }
    length += added
  }
  batches.push({ source, first: first + start, records: records.slice(start) })
  return batches
}
