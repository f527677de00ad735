import { StoreError } from '../errors.ts'
import { pause } from '../internal/single-flight.ts'

/** The attempts, and the pause before the second in milliseconds; the pause before the third is twice as long. */
const ATTEMPTS = 3
const PAUSE_MS = 200

/**
 * Settles or cancels a reservation, and does it again if the store fails: three attempts, after pauses of 200 ms
 * and 400 ms. Only the first settlement counts, so repeating one whose reply was lost is harmless. The result
 * has `storeFailed: true` if all attempts failed for a reservation that was made without the store.
 *
 * @param attempt Settles or cancels. Called up to three times.
 * @throws StoreError When all attempts fail. Other errors are thrown at once.
 * @example
 * await settleWithRetry(() => call.settle({ token: 812 }))
 */
export async function settleWithRetry<Settled extends { readonly storeFailed?: boolean }>(
  attempt: () => Promise<Settled>,
): Promise<Settled> {
  for (let count = 1; ; count += 1) {
    try {
      const settled = await attempt()
      if (!settled.storeFailed || count === ATTEMPTS) return settled
    } catch (error) {
      if (!(error instanceof StoreError) || count === ATTEMPTS) throw error
    }
    await pause(PAUSE_MS * count)
  }
}
