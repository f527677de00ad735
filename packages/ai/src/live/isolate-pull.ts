import { isFresh } from '@sluice/core/internal/configuration'
import { pullPrices } from './change-prices.ts'
import type { FeedPull, PriceCopy } from './price-copy.ts'

/** The time between two pulls into one record. */
const PULL_MS = 600_000

/**
 * Pulls the feed of live prices, in one isolate of all that share the record. Without a shared store, each has a record
 * of its own, and pulls.
 */
export function isolatePull(): FeedPull {
  let pulledAt = -Infinity

  /** Returns true if this isolate is the one that pulls. */
  async function claim(copy: PriceCopy, now: number): Promise<boolean> {
    const { records, versionField } = copy.document
    const field = { key: versionField.key, field: 'pulled' }
    const [pulled] = await records.read([field])
    if (isFresh(Number(pulled ?? -Infinity), now, PULL_MS)) {
      pulledAt = Number(pulled)
      return false
    }
    const set = { [field.field]: String(now) }
    return records.write([{ key: field.key, set }], { ...field, is: pulled })
  }

  return {
    isDue: (now) => !isFresh(pulledAt, now, PULL_MS),
    async pull(copy) {
      const now = copy.document.clock()
      pulledAt = now
      try {
        if (await claim(copy, now)) await pullPrices(copy, undefined, { by: 'livePrices' })
      } catch (error) {
        copy.report(`the list at ${new URL(copy.feed.url).host} ${(error as Error).message}`)
      }
    },
  }
}
