/* Which policies take part in a decision, and which of them deny. */
import type { Decision } from '@sluice/core'
import type { Rule } from './rules.ts'
import type { Row } from './script-calls.ts'

type Accuse = (what: string) => void

/** Holds what scripts are given to what is rolled out: a partition is enforced always, or never. */
export class RolloutJudge {
  readonly #accuse: Accuse
  /** Whether a partition is enforced, by its key. */
  readonly #enforced = new Map<string, boolean>()

  constructor(accuse: Accuse) {
    this.#accuse = accuse
  }

  /** Judges whether a policy denies, or only counts. Returns true if it is rolled out. */
  judge({ rule, key, enforced }: Row): boolean {
    const { name, rollout } = rule
    if (!rollout || !rule.enforced) {
      if (enforced !== rule.enforced) this.#accuse(`${name} is ${enforced ? '' : 'not '}enforced`)
      return false
    }
    if (rollout.enabled === 0) this.#accuse(`${name} is counted, and is switched off`)
    if (enforced ? rollout.enforced === 0 : rollout.enforced === 100) {
      this.#accuse(`${rollout.enforced} % of ${name} are to be enforced`)
    }
    if (rollout.by === 'request') return true
    if ((this.#enforced.get(key) ?? enforced) !== enforced) {
      this.#accuse(`${name} is enforced for ${key} now and then`)
    }
    this.#enforced.set(key, enforced)
    return true
  }
}

/** Every policy of what is spent takes part, unless it is rolled out to others only. */
export function judgeParts(
  { policies }: Decision,
  rules: readonly Rule[],
  cost: Readonly<Record<string, number>>,
  accuse: Accuse,
): void {
  const named = new Set<string>(policies.map(({ name }) => name))
  for (const { name, unit, rollout } of rules) {
    const mustCount = rollout === undefined || rollout.enabled === 100
    if (mustCount && (cost[unit] ?? 0) > 0 && !named.has(name)) accuse(`${name} takes no part`)
    if (rollout?.enabled === 0 && named.has(name)) accuse(`${name} is switched off, and takes part`)
  }
}
