import type { Span } from './meter.ts'
import { limitOf, type Partition, type Row, type Side } from './partition.ts'
import { callsOf, canDeny, dollarsOf, mostDenied } from './period.ts'

/** Calls and micro-dollars that are denied for sure. */
interface Amount {
  calls: number
  usd: number
}

/** The periods of one window in one partition, or one period if the window is shorter. */
interface Block {
  readonly id: number
  readonly start: number
  end: number
  calls: number
  usd: number
  units: number
  /** The most units that one call can have. */
  largest: number
  /** What the other set may deny of these calls. */
  readonly other: Amount
  limit: number
  burst: number
  isUncertain: boolean
}

/** Finds what is denied in any order of the calls: more is asked for in a window than can be allowed. */
export interface Guaranteed {
  add(partition: Partition, span: Span): void
  read(): { readonly ofAll: Amount; ofTenant(tenant: string): Amount }
}

/** Creates the sums of what `to` denies for sure and `from` allows. */
export function createGuaranteed(from: Side, to: Side): Guaranteed {
  const blocks = new Map<Partition, Block>()
  // Policies deny the same calls: each is summed by itself, and the one that denies most counts.
  const sums = new Map<string | undefined, Map<string, Amount>>()

  function end(partition: Partition, block: Block): void {
    const { rule, tenant } = partition
    const { calls, usd } = leastOf(partition, block)
    let policies = sums.get(tenant)
    if (policies === undefined) sums.set(tenant, (policies = new Map<string, Amount>()))
    const sum = policies.get(rule.name) ?? { calls: 0, usd: 0 }
    policies.set(rule.name, sum)
    sum.calls += Math.max(0, calls - block.other.calls)
    sum.usd += Math.max(0, usd - block.other.usd)
  }

  const most = (tenant: string | undefined): Amount => {
    const all = [...(sums.get(tenant)?.values() ?? [])]
    return {
      calls: Math.max(0, ...all.map(({ calls }) => calls)),
      usd: Math.max(0, ...all.map(({ usd }) => usd)),
    }
  }

  return {
    add(partition, span) {
      const rows = partition.rows.filter((row) => limitOf(row, partition, to)?.enforced)
      if (rows.length === 0) return
      const id = idOf(partition, span)
      let block = blocks.get(partition)
      if (block?.id !== id) {
        if (block) end(partition, block)
        blocks.set(partition, (block = createBlock(id, span.start)))
      }
      addRows(block, partition, rows, from, to)
      block.end = span.end
    },
    read() {
      for (const [partition, block] of blocks) end(partition, block)
      blocks.clear()
      return { ofAll: most(undefined), ofTenant: most }
    },
  }
}

function idOf({ meter, rule }: Partition, { start, end }: Span): number {
  const window = meter?.windowOf?.(start)
  if (window && window.end >= end) return window.start
  const length = Math.max(end - start, rule.windowMs)
  return Math.floor(start / length)
}

const createBlock = (id: number, start: number): Block => ({
  id,
  start,
  end: start,
  calls: 0,
  usd: 0,
  units: 0,
  largest: 0,
  other: { calls: 0, usd: 0 },
  limit: 0,
  burst: 0,
  isUncertain: false,
})

function addRows(
  block: Block,
  { rule, counts }: Partition,
  rows: readonly Row[],
  from: Side,
  to: Side,
): void {
  const { limit, isUncertain } = counts[to]
  block.calls += callsOf(rows)
  block.usd += dollarsOf(rows)
  for (const { sum } of rows) {
    const units = rule.unit === 'request' ? sum.calls : Math.max(0, sum.units[rule.unit] ?? 0)
    block.units += units
    block.largest = Math.max(block.largest, rule.unit === 'request' ? 1 : units)
  }
  block.limit = Math.max(block.limit, limit?.limit ?? 0)
  block.burst = Math.max(block.burst, limit?.burst ?? 0)
  block.isUncertain ||= isUncertain
  const deniable = rows.filter(({ shares }) => shares.some((share) => canDeny(share, from)))
  block.other.calls += mostDenied(deniable, from).calls
  block.other.usd += dollarsOf(deniable)
}

function leastOf({ rule, meter }: Partition, block: Block): Amount {
  const { start, end, calls, usd, units, largest, limit, burst, isUncertain } = block
  if (!meter || isUncertain || largest === 0) return { calls: 0, usd: 0 }
  const allowed = meter.most({ start, end }, limit, burst)
  // The contents of a bucket are no whole numbers, and a sum of them is not exact.
  const denied = Math.max(0, Math.ceil(units - allowed - 1e-6))
  if (rule.unit === 'usd') return { calls: Math.ceil(denied / largest), usd: denied }
  if (rule.unit === 'request') return { calls: denied, usd: denied === calls ? usd : 0 }
  return { calls: Math.ceil(denied / largest), usd: 0 }
}
