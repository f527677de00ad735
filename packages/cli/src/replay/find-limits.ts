import type { Log, PolicySet, Suggestion } from '@sluice/replay'
import { createProgress } from './progress.ts'

/** Searches for the smallest limits, and shows how often it has read the log. */
export async function findLimits(
  log: Log,
  set: PolicySet,
  except: readonly string[] | undefined,
): Promise<Suggestion> {
  const { suggestLimits } = await import('@sluice/replay')
  let reading = 0
  let progress = createProgress(process.stderr, 'search')
  const read: Log['calls'] = () => {
    progress.end()
    reading += 1
    progress = createProgress(process.stderr, `search, reading ${reading}`)
    return log.calls((share) => progress.update(share))
  }
  return suggestLimits(read, set, { except, spreadMs: log.spreadMs }).finally(() => progress.end())
}
