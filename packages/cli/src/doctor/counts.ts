/* Policies that would count anew: their keys name the window and what they count by. */
import { definitionOf, type Limiter } from '@sluice/core'
import { durationText } from '@sluice/core/internal/text'
import { installed, lacksExtension } from '../errors.ts'
import type { Finding } from './finding.ts'

const HOUR_MS = 3_600_000

/** Returns the policies that were counted in another way in the last hour, as far as usage is recorded. */
export async function judgeCounts(limiter: Limiter): Promise<Finding[]> {
  const rows = await rowsOf(limiter)
  return definitionOf(limiter).rules.flatMap(({ name, windowMs, per }) => {
    const own = `${durationText(windowMs)} per ${[per].flat().join('+')}`
    const row = rows.find(
      (one) => one.policy === name && `${durationText(one.windowMs)} per ${one.per}` !== own,
    )
    if (!row) return []
    return [
      {
        code: 'counts_anew' as const,
        text: `${name} counted ${durationText(row.windowMs)} per ${row.per} in the last hour, and counts ${own} now: each budget of it begins anew`,
        remedy:
          'deploy it at a quiet time, or under another name beside the old one: docs/operate/upgrade.md',
      },
    ]
  })
}

/** Reads how policies were counted. Nothing where no usage is recorded. */
async function rowsOf(limiter: Limiter) {
  try {
    const { usage } = await installed('@sluice/usage', () => import('@sluice/usage/report'))
    return (await usage(limiter, { from: Date.now() - HOUR_MS })).policies
  } catch (error) {
    const { name } = error as Error
    // Other checks have found a fault of the store.
    if (lacksExtension(error) || name === 'CommandError' || name === 'StoreError') return []
    throw error
  }
}
