import type { Span } from './meter.ts'
import { callsOf, dollarsOf, limitOf, unitsOf } from './partition.ts'
import type { Partition, Row, Side } from './partition.ts'
import { mostDenied } from './period.ts'

/** Calls and micro-dollars. */
export interface Amount {
  readonly calls: number
  readonly usd: number
}

const NOTHING: Amount = { calls: 0, usd: 0 }

/**
 * The calls that `to` denies for sure and `from` allows.
 *
 * In a window, or a period if that is longer, an algorithm allows at most what fits in that time, in any order of the
 * calls. More is asked for: so many units are denied, by this policy or by another one, which are at least as many
 * calls as it takes of the largest. As many of these as `from` can deny at most may be denied by both.
 */
export class Guaranteed {
  readonly #from: Side
  readonly #to: Side
  readonly #blocks = new Map<Partition, Block>()
  // Policies deny the same calls: each is summed by itself, and the one that denies most counts.
  readonly #sums = new Map<string | undefined, Map<string, Amount>>()

  constructor(from: Side, to: Side) {
    this.#from = from
    this.#to = to
  }

  /** Adds the rows of a partition in a period. */
  add(partition: Partition, span: Span): void {
    const rows = partition.rows.filter((row) => limitOf(row, partition, this.#to)?.enforced)
    if (rows.length === 0) return
    const id = idOf(partition, span)
    let block = this.#blocks.get(partition)
    if (block?.id !== id) {
      if (block) this.#end(block)
      block = new Block(partition, id, span.start)
      this.#blocks.set(partition, block)
    }
    block.add(rows, span.end, this.#from, this.#to)
  }

  end(): void {
    for (const block of this.#blocks.values()) this.#end(block)
    this.#blocks.clear()
  }

  /** Returns what is denied of a tenant, or in the partitions that tenants share. Call `end` before. */
  of(tenant: string | undefined): Amount {
    const all = [...(this.#sums.get(tenant)?.values() ?? [])]
    return {
      calls: Math.max(0, ...all.map(({ calls }) => calls)),
      usd: Math.max(0, ...all.map(({ usd }) => usd)),
    }
  }

  #end(block: Block): void {
    const { rule, tenant } = block.partition
    const { calls, usd } = block.denied()
    const policies = this.#sums.get(tenant) ?? new Map<string, Amount>()
    const sum = policies.get(rule.name) ?? NOTHING
    this.#sums.set(tenant, policies)
    policies.set(rule.name, { calls: sum.calls + calls, usd: sum.usd + usd })
  }
}

function idOf({ meter, rule }: Partition, { start, end }: Span): number {
  const window = meter?.windowOf?.(start)
  if (window && window.end >= end) return window.start
  const length = Math.max(end - start, rule.windowMs)
  return Math.floor(start / length)
}

/** The periods of one window in one partition, or one period if the window is shorter. */
class Block {
  readonly partition: Partition
  readonly id: number
  readonly #start: number
  #end: number
  #calls = 0
  #usd = 0
  #units = 0
  /** The most units that one call can have. */
  #largest = 0
  #limit = 0
  #burst = 0
  #isUncertain = false
  /** The most that the other set may deny of these calls. */
  #other = NOTHING

  constructor(partition: Partition, id: number, start: number) {
    this.partition = partition
    this.id = id
    this.#start = start
    this.#end = start
  }

  add(rows: readonly Row[], end: number, from: Side, to: Side): void {
    const { rule } = this.partition
    const { limit, isUncertain } = this.partition.standing(to)
    this.#end = end
    this.#calls += callsOf(rows)
    this.#usd += dollarsOf(rows)
    for (const { sum } of rows) {
      const units = unitsOf(sum, rule)
      this.#units += units
      this.#largest = Math.max(this.#largest, rule.unit === 'request' ? 1 : units)
    }
    this.#limit = Math.max(this.#limit, limit?.limit ?? 0)
    this.#burst = Math.max(this.#burst, limit?.burst ?? 0)
    this.#isUncertain ||= isUncertain
    const other = mostDenied(rows, from)
    this.#other = {
      calls: this.#other.calls + other.calls,
      usd: this.#other.usd + dollarsOf(other.rows),
    }
  }

  denied(): Amount {
    const { calls, usd } = this.#least()
    const { calls: otherCalls, usd: otherUsd } = this.#other
    return { calls: Math.max(0, calls - otherCalls), usd: Math.max(0, usd - otherUsd) }
  }

  #least(): Amount {
    const { rule, meter } = this.partition
    if (!meter || this.#isUncertain || this.#largest === 0) return NOTHING
    const span = { start: this.#start, end: this.#end }
    const allowed = meter.most(span, this.#limit, this.#burst)
    // The contents of a bucket are no whole numbers, and a sum of them is not exact.
    const denied = Math.max(0, Math.ceil(this.#units - allowed - 1e-6))
    if (rule.unit === 'request')
      return { calls: denied, usd: denied === this.#calls ? this.#usd : 0 }
    return { calls: Math.ceil(denied / this.#largest), usd: rule.unit === 'usd' ? denied : 0 }
  }
}
