/* Policies that would count anew: their keys name the algorithm, its windows and what they count by. */
import { definitionOf, type Limiter } from '@sluice/core'
import { countingOf } from '@sluice/core/internal/limiter'
import { durationText } from '@sluice/core/internal/text'
import { lacksExtension } from '@sluice/core/internal/operator'
import { installed } from '../errors.ts'
import type { Finding } from './finding.ts'

const HOUR_MS = 3_600_000

/** Returns the policies that were counted in another way in the last hour, as far as usage is recorded. */
export async function judgeCounts(limiter: Limiter): Promise<Finding[]> {
  const rows = await rowsOf(limiter)
  // A policy beside a limit, such as its line, counts no units.
  const rules = definitionOf(limiter).rules.filter(({ follows }) => !follows)
  return rules.flatMap((rule) => {
    const { name, windowMs, per } = rule
    const now = { windowMs, per: [per].flat().join('+'), counting: countingOf(rule) }
    const row = rows.find((one) => isSamePolicy(one, name, now) && countsElsewhere(one, now))
    if (!row) return []
    // Of one window and per, the algorithm or its parts are others.
    const isNamed = row.windowMs !== now.windowMs || row.per !== now.per
    const [before, own] = [row, now].map((one) => countingText(one, isNamed))
    return {
      code: 'counts_anew' as const,
      text: `${name} counted ${before} in the last hour, and counts ${own} now: each budget of it begins anew`,
      remedy:
        'deploy it at a quiet time, or under another name beside the old one: docs/operate/upgrade.md',
    }
  })
}

/** The facts that a policy's keys depend on. */
interface Counting {
  readonly windowMs: number
  readonly per: string
  /** Missing in what an earlier version has recorded. */
  readonly counting?: string
}

/** Returns true for a row of the same policy, of which each window has a name of its own. */
const isSamePolicy = (row: Counting & { policy: string }, name: string, now: Counting): boolean =>
  row.policy === name || (row.counting !== undefined && keyName(row) === keyName(now))

const keyName = ({ counting = '' }: Counting): string | undefined => counting.split(':')[0]

const countsElsewhere = (before: Counting, now: Counting): boolean =>
  before.per !== now.per ||
  (before.counting === undefined
    ? before.windowMs !== now.windowMs
    : before.counting !== now.counting)

function countingText({ windowMs, per, counting = '' }: Counting, isNamed: boolean): string {
  const text = `${windowMs === 0 ? 'no window' : durationText(windowMs)} per ${per}`
  // The name is before the colon.
  return isNamed ? text : `${text} by ${counting.slice(counting.indexOf(':') + 1)}`
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
