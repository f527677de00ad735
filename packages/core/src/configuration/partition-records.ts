import { ConnectedRecords, type RecordsContext } from './connected-records.ts'

/** Keeps the settings of partitions outside of the configuration's document. Created by `partitionRecords`. */
export interface PartitionRecords {
  /** Joins the configuration of one limiter. */
  connect(context: RecordsContext): ConnectedRecords
}

/**
 * Keeps the settings of each partition in a record of its own, for any number of partitions. An isolate
 * loads the record before its first decision for the partition, and then reads it every 5 seconds, along
 * with a decision. It remembers the 10,000 partitions used last.
 *
 * @example
 * const limiter = createLimiter({
 *   store: upstash(),
 *   policies: [monthlyCap({ name: 'budget', limit: usd(50), unit: 'usd', per: ['tenant'] })],
 *   extensions: [
 *     runtimeConfiguration({ allow: { budget: ['limit'] }, partitions: partitionRecords() }),
 *   ],
 * })
 * await configure(limiter, { budget: { limit: usd(250) } }, { tenant: 'acme' })
 */
export function partitionRecords(): PartitionRecords {
  return Object.freeze({ connect: (context: RecordsContext) => new ConnectedRecords(context) })
}
