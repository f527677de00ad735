import type { Limiter } from '@sluice/core'
import { readConfiguration, type ConfigurationEntry } from '@sluice/core/configuration'
import { lacksExtension } from './errors.ts'

/** Returns the settings in the store: none for a limiter without them. */
export async function settingsOf(
  limiter: Limiter,
  subject?: Readonly<Record<string, string>>,
): Promise<readonly ConfigurationEntry[]> {
  try {
    return await (subject ? readConfiguration(limiter, subject) : readConfiguration(limiter))
  } catch (error) {
    if (lacksExtension(error)) return []
    throw error
  }
}
