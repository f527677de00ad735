import { StoreError, type Limiter } from '@sluice/core'
import { runtimeOf } from '@sluice/core/internal/limiter'

const NO_KEY = 'sluice-command'

/**
 * Fails in the words of a store that refuses: a decision without it, and an error about it, have the code alone. A file
 * says that the app has to be stopped first.
 *
 * @param code The code of the failure.
 * @throws StoreError
 */
export async function assertNotRefused(limiter: Limiter, code: string | undefined): Promise<void> {
  if (code !== 'store_refused') return
  try {
    await runtimeOf(limiter).store.reset([NO_KEY])
  } catch (error) {
    if (error instanceof StoreError) throw error
  }
}
