import { mostHeld } from './bounds.ts'
import { capacity, isBucket, takingPart, type Rule } from './rules.ts'
import { firstMoment, usageOf, type Charge } from './usage.ts'

/** A request to the oracle. */
export interface Ask {
  readonly tenant: string
  readonly route: string
  readonly cost: Readonly<Record<string, number>>
}

/** The opinion of the oracle about one rule, in the words of a decision. */
export interface Opinion {
  readonly fits: boolean
  /** True if the cost was added to its count. */
  charged: boolean
  remaining: number
  readonly cost: number
  readonly resetMs: number
  readonly retryAfterMs: number | null
  readonly enforced: boolean
  readonly delayMs: number
}

/**
 * A rate limiter as one would explain it: it keeps every allowed request for ever, and adds up those
 * that count at a moment. It looks for a moment at which something changes by trying moments.
 */
export class Oracle {
  readonly #rules: readonly Rule[]
  /** Allowed requests by rule and partition. */
  readonly #charges: Map<Rule, Map<string, Charge[]>>

  constructor(rules: readonly Rule[]) {
    this.#rules = rules
    this.#charges = new Map(rules.map((rule) => [rule, new Map()]))
  }

  /** The opinions are on the rules that take part, in their order. */
  decide(ask: Ask, now: number, apply: boolean): { allowed: boolean; opinions: Opinion[] } {
    const asked = takingPart(this.#rules, ask.route)
    const opinions = asked.map((rule) => opinionOf(rule, this.#of(rule, ask), ask, now))
    const allowed = opinions.every(({ fits, enforced }) => fits || !enforced)
    if (!allowed || !apply) return { allowed, opinions }
    const logs = new Set<number>()
    for (const [index, rule] of asked.entries()) {
      const opinion = opinions[index] as Opinion
      const together = asked.filter((one) => one === rule || (one.log ?? -1) === rule.log)
      // A shadow counts what it would let pass; one that shares a log with what denies counts all of it.
      const isLetIn =
        together.some(({ enforced }) => enforced) ||
        together.every((one) => opinions[asked.indexOf(one)]?.fits)
      if (!isLetIn) continue
      opinion.remaining = Math.max(0, opinion.remaining - opinion.cost)
      opinion.charged = opinion.cost > 0
      if (opinion.cost === 0 || logs.has(rule.log ?? -1)) continue
      if (rule.log !== undefined) logs.add(rule.log)
      const counting = rule.log === undefined ? [rule] : this.#inLog(rule.log)
      for (const one of counting) this.#of(one, ask).push({ at: now, cost: opinion.cost })
    }
    return { allowed, opinions }
  }

  /** The most that any rule has ever held of what it may, as a share. */
  fullest(): number {
    const shares = Array.from(this.#charges, ([rule, byPartition]) =>
      Array.from(byPartition.values(), (charges) => mostHeld(rule, charges)),
    )
    return Math.max(0, ...shares.flat())
  }

  #inLog(log: number): Rule[] {
    return this.#rules.filter((rule) => rule.log === log)
  }

  #of(rule: Rule, { tenant, route }: Ask): Charge[] {
    const names = rule.per === 'global' ? [] : rule.per
    const partition = JSON.stringify(names.map((name) => (name === 'tenant' ? tenant : route)))
    const byPartition = this.#charges.get(rule) as Map<string, Charge[]>
    if (!byPartition.has(partition)) byPartition.set(partition, [])
    return byPartition.get(partition) as Charge[]
  }
}

function opinionOf(rule: Rule, charges: readonly Charge[], ask: Ask, now: number): Opinion {
  const cost = ask.cost[rule.unit] ?? 1
  const longestWait = typeof rule.wait === 'number' ? rule.wait : Infinity
  const { units, wait } = usageOf(rule, charges)
  const fitsAt = (at: number): boolean =>
    cost === 0 || (units(at) + cost <= capacity(rule) && wait(at) <= longestWait)
  const used = units(now)
  const fits = fitsAt(now)
  // Where nothing is in use, one unit is taken to be. A charge moves the end of a session, or begins one.
  const isProlonged = rule.kind === 'session' && fits && cost > 0
  const { units: after } = isProlonged
    ? usageOf(rule, [...charges, { at: now, cost }])
    : used > 0
      ? { units }
      : usageOf(rule, [{ at: now, cost: 1 }])
  const never = cost > capacity(rule)
  // Of a bucket that nothing flows into, its window is told.
  const neverFills = isBucket(rule) && rule.limit === 0
  return {
    fits,
    charged: false,
    remaining: Math.max(0, capacity(rule) - used),
    resetMs: neverFills
      ? rule.windowMs
      : firstMoment(now, (at) => after(at) < Math.max(1, used)) - now,
    retryAfterMs: never && !fits ? null : firstMoment(now, fitsAt) - now,
    cost,
    enforced: rule.enforced,
    delayMs: rule.enforced && fits && cost > 0 ? wait(now) : 0,
  }
}
