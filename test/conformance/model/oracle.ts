import type { Rule } from './rules.ts'

/** What a request is, to the oracle. */
export interface Ask {
  readonly tenant: string
  readonly route: string
  readonly cost: Readonly<Record<string, number>>
}

interface Spent {
  readonly at: number
  readonly cost: number
}

/** What the oracle says of one rule, in the words of a decision. */
export interface Opinion {
  readonly fits: boolean
  remaining: number
  readonly cost: number
  readonly resetMs: number
  readonly retryAfterMs: number | null
}

/** When (epoch ms) the calendar window that holds `now` ends. */
export function endOf({ kind, windowMs }: Rule, now: number): number {
  const date = new Date(now)
  if (kind === 'daily') return date.setUTCHours(24, 0, 0, 0)
  if (kind === 'fixed') return (Math.floor(now / windowMs) + 1) * windowMs
  date.setUTCHours(0, 0, 0, 0)
  date.setUTCDate(1)
  return date.setUTCMonth(date.getUTCMonth() + 1)
}

/**
 * A rate limiter as one would explain it: it keeps every allowed request for ever, and adds up those
 * that count at a moment. It looks for a retry time by trying every moment at which something changes.
 */
export class Oracle {
  readonly #rules: readonly Rule[]
  /** Allowed requests by rule and partition. */
  readonly #spent: Map<string, Spent[]>[]

  constructor(rules: readonly Rule[]) {
    this.#rules = rules
    this.#spent = rules.map(() => new Map())
  }

  decide(ask: Ask, now: number, apply: boolean): { allowed: boolean; opinions: Opinion[] } {
    const opinions = this.#rules.map((rule, index) => {
      const spent = this.#of(index, ask)
      const cost = ask.cost[rule.unit] ?? 1
      const free = (at: number): number => rule.limit - used(rule, spent, at)
      const fitsAt = (at: number): boolean => cost === 0 || cost <= free(at)
      const changes = spent
        .map(({ at }) => (rule.kind === 'sliding' ? at + rule.windowMs : endOf(rule, at)))
        .filter((at) => at > now)
        .toSorted((a, b) => a - b)
      const first = [now, ...changes].find(fitsAt)
      return {
        fits: fitsAt(now),
        remaining: Math.max(0, free(now)),
        resetMs:
          (rule.kind === 'sliding' ? (changes[0] ?? now + rule.windowMs) : endOf(rule, now)) - now,
        retryAfterMs: first === undefined ? null : first - now,
        cost,
      }
    })
    const allowed = opinions.every(({ fits }) => fits)
    if (allowed && apply) {
      for (const [index, opinion] of opinions.entries()) {
        if (opinion.cost === 0) continue
        this.#of(index, ask).push({ at: now, cost: opinion.cost })
        opinion.remaining -= opinion.cost
      }
    }
    return { allowed, opinions }
  }

  /** The most that any window of any rule has ever held, as a share of its limit. */
  fullest(): number {
    const shares = this.#rules.flatMap((rule, index) =>
      Array.from(this.#spent[index]?.values() ?? [], (spent) =>
        Math.max(0, ...spent.map(({ at }) => used(rule, spent, at) / rule.limit)),
      ),
    )
    return Math.max(0, ...shares)
  }

  #of(index: number, { tenant, route }: Ask): Spent[] {
    const { per = 'global' } = this.#rules[index] ?? {}
    const partition = JSON.stringify(
      per === 'global' ? [] : per.map((name) => (name === 'tenant' ? tenant : route)),
    )
    const byPartition = this.#spent[index] as Map<string, Spent[]>
    if (!byPartition.has(partition)) byPartition.set(partition, [])
    return byPartition.get(partition) as Spent[]
  }
}

/** Units that count at `now`: in the stretch `(now - window, now]`, or in the calendar window of `now`. */
function used(rule: Rule, spent: readonly Spent[], now: number): number {
  const counts = ({ at }: Spent): boolean =>
    rule.kind === 'sliding'
      ? at > now - rule.windowMs && at <= now
      : endOf(rule, at) === endOf(rule, now)
  return spent.filter(counts).reduce((sum, { cost }) => sum + cost, 0)
}
