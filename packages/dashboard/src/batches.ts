import type { DashboardRecord } from './record.ts'

/** The most characters of a batch that `dashboardHandler` takes. */
export const MAX_BATCH_LENGTH = 512_000

/** Returns records as lists in JSON, each short enough for `dashboardHandler`. */
export function batchesOf(records: readonly DashboardRecord[]): string[] {
  const batches: string[] = []
  let batch = ''
  for (const text of records.map((record) => JSON.stringify(record))) {
    if (batch && `[${batch},${text}]`.length > MAX_BATCH_LENGTH) {
      batches.push(`[${batch}]`)
      batch = ''
    }
    batch += batch ? `,${text}` : text
  }
  if (batch) batches.push(`[${batch}]`)
  return batches
}
