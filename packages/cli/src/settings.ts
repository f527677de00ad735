import type { Limiter } from '@sluice/core'
import { readConfiguration, type ConfigurationEntry } from '@sluice/core/configuration'
import { unlessLacking } from './errors.ts'

/** Returns the settings in the store: none for a limiter without them. */
export const settingsOf = (
  limiter: Limiter,
  subject?: Readonly<Record<string, string>>,
): Promise<readonly ConfigurationEntry[]> =>
  unlessLacking(readConfiguration(limiter, ...(subject ? [subject] : [])), [])
