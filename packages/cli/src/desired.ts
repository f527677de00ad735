import type { DesiredEntry } from '@sluice/core/configuration'
import { refuse } from './errors.ts'

/** Returns the settings that a file states. @throws CommandError When it states none. */
export function desiredIn(
  file: string,
  { configuration }: Readonly<Record<string, unknown>>,
): readonly DesiredEntry[] {
  if (Array.isArray(configuration)) return configuration as DesiredEntry[]
  return refuse(
    `${file} exports no list "configuration", such as: export const configuration = [{ policy: 'rpm', settings: { limit: 30 } }]`,
  )
}
