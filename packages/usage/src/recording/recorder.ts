import type { Decision, LimiterEvents, PolicyRule, Subject } from '@sluice/core'
import { releasedSubject } from '@sluice/core/internal/limiter'
import type { Cells } from './cells.ts'
import { dayOf, hourOf, PERIOD_MS, quarterOf, QUARTERS } from '../hours.ts'
import { UNKNOWN } from '../rows.ts'
import {
  choiceCell,
  costOf,
  valueOf,
  policyCell,
  requestCell,
  tokensAndUsd,
  type CellId,
} from './cell.ts'

const UNKNOWN_CELL: CellId = { family: 'a', parts: [UNKNOWN, '', '', ''] }

type Amounts = Readonly<Record<string, number>>
type Settlement = Pick<LimiterEvents['settled'], 'charges' | 'origin'>

/** The dimension that names tenants, and those that each row has beside it. */
interface RecordedDimensions {
  readonly by: string
  readonly dimensions: readonly string[]
}

/** Counts the events of a limiter in cells. */
export class Recorder {
  readonly #cells: Cells
  readonly #recorded: RecordedDimensions
  readonly #rules: ReadonlyMap<string, PolicyRule>

  constructor(cells: Cells, recorded: RecordedDimensions, policies: readonly PolicyRule[]) {
    this.#cells = cells
    this.#recorded = recorded
    this.#rules = new Map(policies.map((policy) => [policy.name, policy]))
  }

  /** Counts a decision. */
  decide(decision: Decision, subject: Subject): void {
    const hour = hourOf(decision.at)
    const [tokens, usd] = tokensAndUsd(costOf(decision))
    const { by, dimensions } = this.#recorded
    const tenant = valueOf(subject, by)
    const cell = (family: CellId['family']): CellId =>
      requestCell(family, tenant, subject, decision, dimensions)
    if (decision.allowed) {
      this.#cells.add(hour, cell('a'), withQuarters(decision.at, [1, tokens, usd]))
    } else if (decision.violated) {
      this.#cells.add(hour, cell('d'), withQuarters(decision.at, [1]))
      if (tokens || usd) this.#cells.addOnce(hour, cell('e'), [tokens, usd], waitOf(decision))
    } else {
      this.#cells.add(hour, cell('x'), [1])
    }
    const choice = choiceCell(tenant, subject, decision)
    if (choice) this.#cells.add(hour, choice, [1])
    for (const policy of decision.policies) {
      const { name, charged, cost, fits, enforced } = policy
      const isShadow = decision.allowed && !enforced
      const shadow = isShadow && !fits ? [1, tokens, usd] : [0, 0, 0]
      this.#cells.add(hour, policyCell(tenant, subject, policy, this.#rules.get(name)), [
        1,
        charged ? cost : 0,
        decision.violated?.name === name ? 1 : 0,
        isShadow ? 1 : 0,
        ...shadow,
      ])
    }
  }

  /** Corrects the counts of a reservation, in the hour in which it was made. */
  settle(event: LimiterEvents['settled'], now: number): void {
    const { corrections, origin, wasReleased } = event
    const units: Record<string, number> = {}
    const estimate: Record<string, number> = {}
    for (const { policy, reserved, actual } of corrections) {
      units[policy.unit] = actual - reserved
      estimate[policy.unit] = reserved
    }
    // Its release has given back the estimate for all that it knew of the request.
    if (wasReleased) this.#correct(this.#releasedOf(event), estimate, now)
    this.#correct(event, units, origin?.at ?? now)
  }

  /** Adds units to the row of a reservation, and to those of its policies. */
  #correct({ charges, origin }: Settlement, units: Amounts, at: number): void {
    if (!origin) {
      this.#add(at, UNKNOWN_CELL, tokensAndUsd(units))
      return
    }
    const { subject, limits } = origin
    const { by, dimensions } = this.#recorded
    const tenant = valueOf(subject, by) || (subject.route === UNKNOWN ? UNKNOWN : '')
    this.#add(at, requestCell('a', tenant, subject, origin, dimensions), tokensAndUsd(units))
    for (const { policy: name } of charges) {
      const rule = this.#rules.get(name)
      const corrected = rule && units[rule.unit]
      const limit = limits[name]
      if (!corrected || limit === undefined) continue
      const cell = policyCell(tenant, subject, { ...rule, limit }, rule)
      this.#cells.add(hourOf(at), cell, [0, corrected, 0, 0, 0, 0, 0])
    }
  }

  #add(at: number, cell: CellId, [tokens, usd]: [number, number]): void {
    if (tokens || usd) this.#cells.add(hourOf(at), cell, withQuarters(at, [0, tokens, usd]))
  }

  /** Returns a settlement as that of its release was told. */
  #releasedOf({ charges, origin }: Settlement): Settlement {
    const rules = charges.flatMap(({ policy }) => this.#rules.get(policy) ?? [])
    const rule = rules.find(({ unit }) => unit !== 'request') ?? rules[0]
    if (!origin || !rule) return { charges, origin: undefined }
    const subject = releasedSubject(origin.subject, rule)
    return { charges, origin: { ...origin, subject, plan: undefined } }
  }
}

/** Adds to the values of an hour the same ones for each quarter of it: 0 but for the quarter of `at`. */
function withQuarters(at: number, values: readonly number[]): number[] {
  const all = [...values, ...Array<number>(values.length * QUARTERS).fill(0)]
  const first = values.length * (1 + quarterOf(at))
  for (const [index, value] of values.entries()) all[first + index] = value
  return all
}

/**
 * Returns the time in which further denials are retries: the wait of the denial, or the window of its policy if
 * that is longer; to the end of the day at most.
 */
function waitOf({ at, violated, retryAfterMs }: Decision): { at: number; until: number } {
  const waitMs = Math.max(violated?.windowMs ?? 0, retryAfterMs ?? Infinity)
  return { at, until: Math.min(at + waitMs, dayOf(at) + PERIOD_MS.day) }
}
