/* Runs worlds as a test, and shows what fails as a small one. */
import { shrink } from './shrink.ts'
import type { Setting } from './setting.ts'
import { World, type Outcome } from './world.ts'

/** The decisions of each world in the gate. */
export const DECISIONS = 2_000

/** The worlds that a test tries to find a small one: more might take longer than the test may, and hide what was found. */
const MOST_TRIES = 10

/** The worlds of the gate have the seeds 1 to 30; `npm run test:nightly` goes on to 300. */
export const WORLDS = Number(process.env['WORLD_SEEDS'] ?? 30)

/** Lives through a world, and fails with a small one that shows each violation. */
export async function holds(seed: number, replace: Partial<Setting> = {}): Promise<Outcome> {
  const options = { decisions: DECISIONS, replace }
  const outcome = await World.run(seed, options)
  if (outcome.violations.length === 0) return outcome
  const small = await shrink(outcome, options, MOST_TRIES)
  const changes = JSON.stringify(small.options.replace ?? {})
  throw new Error(
    `${outcome.violations.join('\n')}\nnpm run world -- --seed ${seed} --decisions ${small.options.decisions} --replace '${changes}' --trace`,
  )
}

/** Adds up how often the judges have looked at each thing: one that was never looked at is not proved. */
export function addTallies(total: Record<string, number>, { server, callers }: Outcome): void {
  addCounts(total, { ...server, ...callers })
}

/** Adds up counts by name. */
export function addCounts(
  total: Record<string, number>,
  counts: Readonly<Record<string, number>>,
): void {
  for (const [what, count] of Object.entries(counts)) total[what] = (total[what] ?? 0) + count
}

/** Returns a change of the bundle: what stands there instead of a text. @throws Error When the bundle has no such text. */
export const mutating =
  (from: string, to: string) =>
  (bundle: string): string => {
    if (!bundle.includes(from)) throw new Error(`the bundle has no ${from}`)
    return bundle.replaceAll(from, () => to)
  }

/**
 * Finds a violation in twelve worlds of a bundle with a mistake: a text, and what stands there instead. Returns those of
 * the first world that has some.
 */
export async function violationsWith(
  from: string,
  to: string,
  replace: Partial<Setting>,
): Promise<readonly string[]> {
  const mutate = mutating(from, to)
  for (let seed = 1; seed <= 12; seed += 1) {
    const { violations } = await World.run(seed, { decisions: DECISIONS, mutate, replace })
    if (violations.length > 0) return violations
  }
  return []
}
