import type { Charged, Count } from './definitions.ts'
import type { Rule } from './rules.ts'

/** The units that are held of one policy. */
interface HeldCharge extends Charged {
  readonly key: string
  readonly rule: Rule
  /** False if the policy only observed this call. */
  readonly enforced: boolean
}

/** A reservation or a block of a lease, as Redis knows it. */
export interface Held {
  readonly at: number
  /** The charges that it holds, by the position of their policy. 0 once it was given back. */
  readonly charges: Map<number, HeldCharge>
  /** The policies of who made it, by position. */
  readonly rules: readonly Rule[]
  state: 'open' | 'released' | 'settled'
}

/** Everything that the judge knows of a Redis at a moment. */
export interface Ledger {
  readonly counts: ReadonlyMap<string, { rule: Rule; count: Count }>
  readonly held: ReadonlyMap<string, Held>
}

/** Returns a copy, which later calls do not change. */
export function copyOf({ counts, held }: Ledger) {
  return {
    counts: new Map(
      Array.from(counts, ([key, { rule, count }]) => [key, { rule, count: count.copy() }] as const),
    ),
    held: new Map(
      Array.from(held, ([id, one]) => [id, { ...one, charges: new Map(one.charges) }] as const),
    ),
  }
}
