import type { Store } from '@sluice/core'
import { isDeepStrictEqual } from 'node:util'
import { drawDeploys, drawStep, isLawful, randomFrom, type Step } from './history.ts'
import { LimiterPlayer } from './limiter-player.ts'
import { OraclePlayer } from './oracle-player.ts'

/**
 * Plays a random history of a balance in a store and with the oracle.
 *
 * @returns The first difference, with all that is needed to see it again; `undefined` if there is none.
 */
export async function differenceIn(
  store: Store,
  seed: number,
  steps: number,
): Promise<string | undefined> {
  const random = randomFrom(seed)
  const deploys = drawDeploys(random)
  const oracle = new OraclePlayer(deploys)
  const player = new LimiterPlayer(store, deploys)
  const played: Step[] = []
  const report = (what: string, found: unknown, expected?: unknown): string =>
    [
      `seed ${seed}, ${what}: ${JSON.stringify(found)}, not ${JSON.stringify(expected)}`,
      ...[...deploys, ...played].map((one) => JSON.stringify(one)),
    ].join('\n')
  for (let count = 0; count < steps; count += 1) {
    const step = drawStep(random, oracle, deploys.length)
    played.push(step)
    const [answer, due] = [await player.play(step), await oracle.play(step)]
    if (!isSame(answer, due)) return report('an answer', answer, due)
    const reader = random(deploys.length)
    const [seen, expected] = [await player.look(reader), await oracle.look(reader)]
    if (!isLawful(seen)) return report('the law is broken', seen, expected)
    if (!isDeepStrictEqual(seen, expected)) return report('a balance', seen, expected)
  }
  const faults = await player.journalFaults()
  return faults.length > 0 ? report('the journal', faults) : undefined
}

interface Waiting {
  readonly retryAfterMs?: unknown
}

/** Compares answers. Of waits, the oracle has a list: with `'later'` in it, any is right. */
function isSame(answer: unknown, expected: unknown): boolean {
  const waits = (expected as Waiting | undefined)?.retryAfterMs
  if (!Array.isArray(waits)) return isDeepStrictEqual(answer, expected)
  const { retryAfterMs } = answer as Waiting
  const isRight = waits.includes('later') || waits.includes(retryAfterMs)
  return isRight && isDeepStrictEqual(answer, { ...(expected as Waiting), retryAfterMs })
}
