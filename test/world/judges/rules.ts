/** The kinds of policies, by what they are called in the docs. */
export type Kind =
  | 'sliding'
  | 'log'
  | 'fixed'
  | 'daily'
  | 'monthly'
  | 'session'
  | 'counter'
  | 'token'
  | 'interval'
  | 'leaky'
  | 'slots'
  /** A balance. */
  | 'credits'
  /** The line before the policy that precedes it. */
  | 'line'
  /** The shares of the policy that precedes it. */
  | 'share'

/** A policy that is rolled out step by step. */
export interface Rollout {
  readonly enabled: number
  readonly enforced: number
  readonly by: 'partition' | 'request'
}

/** The calendar of a policy: days that begin at an hour, or weeks that do on a day. */
export interface Calendar {
  /** The zone; of two, the second is that of some tenants. */
  readonly zones: readonly [Zone, Zone?]
  readonly hour: number
  /** The day on which weeks begin, from 0, Sunday, to 6. */
  readonly weekday?: number | undefined
}

export type Zone = 'UTC' | 'Asia/Kolkata' | 'Asia/Tokyo' | 'Europe/Berlin' | 'America/New_York'

/** A policy as plain data, from which callers make policies and judges read what is promised. */
export interface Rule {
  readonly name: string
  readonly kind: Kind
  /** Units a window, by plan or for all. */
  readonly limit: number | Readonly<Record<string, number>>
  /** Of a session its idle time, or else its length; of slots the longest time of a call. */
  readonly windowMs: number
  /** Of a session: its length, if it has one. */
  readonly lengthMs?: number
  /** Of a daily policy: its calendar, if it has one. */
  readonly calendar?: Calendar
  /** The longest window of those that count in one log with this one. */
  readonly longestMs: number
  readonly per: readonly string[] | 'global'
  readonly unit: string
  /** False in shadow mode, which denies nobody. */
  readonly enforced: boolean
  /** The percentages of partitions, or of requests, that are counted and enforced. */
  readonly rollout: Rollout | undefined
  /** Of a bucket: the most at once. Of credits: the usual units of a grant. */
  readonly burst: number
  /** Of a counter: the parts of its window. */
  readonly segments: number
  /** Of a leaky bucket: the longest wait, 0 for none. */
  readonly waitMs: number
  /** The parts of the limit, each of which counts by itself. */
  readonly stripes: number
  /** The log in which it counts with others. */
  readonly log: string | undefined
  /** The time that a block of its units may be served from memory, 0 if it is not leased. */
  readonly leaseMs: number
  /** Of credits: the name of the balances in keys, which an app may have under another policy's name. */
  readonly ledger?: string
  /** Of credits: true if units are free again when nobody settles them in time. */
  readonly releases?: boolean
  /** Of shares: the units that are never lent, … */
  readonly headroom?: number
  /** … and those that each tenant is guaranteed. */
  readonly guarantee?: number
}

/** True for a policy that stands beside another. */
export const isBeside = ({ kind }: Rule): boolean => kind === 'line' || kind === 'share'

export const isBucket = ({ kind }: Rule): boolean =>
  kind === 'token' || kind === 'interval' || kind === 'leaky'
