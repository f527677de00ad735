import { StoreError } from '../errors.ts'
import { pause } from '../internal/single-flight.ts'

/** The most attempts to make a change while others are faster. */
const ATTEMPTS = 20

/**
 * Repeats a write that is made only if nobody else has been faster, until it is made.
 *
 * @throws StoreError `store_conflict` When others are faster each time.
 */
export async function retryWrite(write: () => Promise<boolean>): Promise<void> {
  for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
    if (await write()) return
    // Waits for a random time, so that concurrent writers do not retry together.
    await pause(Math.random() * 10 * attempt)
  }
  throw new StoreError('store_conflict', 'Others keep changing the same record; try again')
}
