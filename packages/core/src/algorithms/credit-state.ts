/* A balance of credits as it is stored, and the order in which its lots are used. */
import type { CalendarNumbers } from './calendar-window.ts'

/** The sums of an account, in the order in which Redis stores them. */
export const SUMS = [
  'granted',
  'adjusted',
  'revoked',
  'expired',
  'settled',
  /** Units of open reservations. */
  'held',
  /** Units that settlements have used beyond what there was. The next grant pays them first. */
  'debt',
  /** The end of the period of the allowance, in epoch ms. 0 before the first. */
  'finish',
  /** The rest of the allowance. */
  'included',
  /** The allowance of the running period. */
  'allowance',
  /** The number of reservations so far: each one's position. */
  'holds',
  /** No open reservation is due before this time (epoch ms). 0 if there is none. */
  'due',
  /** The hour whose spending is summed, in epoch ms. */
  'hour',
  /** The number of the journal's last entry. */
  'entries',
  /** The sum of all entries. */
  'logged',
] as const

export type Sums = Record<(typeof SUMS)[number], number>

/** The rest of grants of one priority, time and kind. */
export interface Lot {
  /** `priority:effective:expires:kind`, as Redis stores it. Times in epoch ms, 0 for none. */
  readonly name: string
  readonly left: number
}

/** The units of an open reservation. */
export interface Hold {
  readonly id: string
  readonly units: number
  /** The time until which it is to be settled, in epoch ms. */
  readonly due: number
  /** The lots that they are from, in the order of their use. */
  readonly parts: readonly Part[]
}

export type Part = readonly [lot: string, units: number]

/** An account as stores in memory keep it. */
export interface CreditState {
  readonly sums: Sums
  /** In the order of their use. */
  readonly lots: readonly Lot[]
  /** The spending of `hour`, by lot. */
  readonly spent: readonly Part[]
  /** By position. Changed in place. */
  readonly holds: Record<string, Hold>
  /** The newest entries, the oldest first. Changed in place. */
  readonly journal: string[]
}

/** The numbers by which an account is brought up to date. Without a limit, the allowance is left as it is. */
export interface CreditTerms extends Partial<CalendarNumbers> {
  readonly limit?: number
  /** See `CREDIT_PARAMS`. */
  readonly params: readonly number[]
}

/** The params: 1 with an allowance; its period in milliseconds, 0 for a month; the most that goes on; 1 to give back what is due. */
export type CreditParams = readonly [
  hasAllowance: number,
  period: number,
  rollover: number,
  releases: number,
]

/** The field of an account in the hash of its key. */
export const ACCOUNT = 'account'

/** The start of the names of fields: of an open reservation, and of an entry of the journal. */
export const HOLD = 'hold:'
export const ENTRY = 'entry:'

/** The lot of the allowance. */
export const INCLUDED = 'included'

/** The most entries of a journal: newer ones replace the oldest. */
export const MAX_ENTRIES = 2_000

export const HOUR_MS = 3_600_000

/** The average length of a month, in milliseconds. */
export const MONTH_MS = 2_629_746_000

/** The facts in the name of a lot. */
interface LotFacts {
  readonly priority: number
  readonly effective: number
  readonly expires: number
  readonly kind: string
}

/** Returns the facts in the name of a lot. */
export function lotFacts(name: string): LotFacts {
  const [priority, effective, expires, kind = ''] = name.split(':')
  return {
    priority: Number(priority),
    effective: Number(effective),
    expires: Number(expires),
    kind,
  }
}

/** Returns the name of a lot. */
export const lotName = ({ priority, effective, expires, kind }: LotFacts): string =>
  `${priority}:${effective}:${expires}:${kind}`

export const hasExpired = (name: string, at: number): boolean => {
  const { expires } = lotFacts(name)
  return expires > 0 && expires <= at
}

export const isUsable = (name: string, at: number): boolean =>
  lotFacts(name).effective <= at && !hasExpired(name, at)

/** The order of use: by priority, then what expires soonest, then promotional before paid, then the oldest. */
export function inOrder(one: Lot, other: Lot): number {
  const [a, b] = [lotFacts(one.name), lotFacts(other.name)]
  const difference =
    a.priority - b.priority || (a.expires || Infinity) - (b.expires || Infinity) || 0
  // Infinity less itself is NaN.
  if (difference) return difference
  if (a.kind !== b.kind) return a.kind === 'promotional' ? -1 : 1
  return a.effective - b.effective
}

export const byPosition = (holds: ReadonlyMap<string, Hold>): [string, Hold][] =>
  [...holds].toSorted(([a], [b]) => Number(a) - Number(b))

/** Returns the parts of the first `units`, and those of the rest. */
export function split(parts: readonly Part[], units: number): [Part[], Part[]] {
  let left = units
  const first: Part[] = []
  const rest: Part[] = []
  for (const [lot, part] of parts) {
    const taken = Math.min(left, part)
    left -= taken
    first.push([lot, taken])
    rest.push([lot, part - taken])
  }
  return [first, rest]
}
