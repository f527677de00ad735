import type { OmittedPolicy } from './policy-set.ts'
import type { Interval } from './time-series.ts'

/** The calls, tokens and dollars of some calls. */
export interface Use {
  readonly calls: number
  /** Tokens of models, input and output. */
  readonly tokens: number
  /** Micro-dollars. */
  readonly usd: number
}

/** The sums of one interval: `allowed` and `denied` calls, their tokens and micro-dollars. */
export type SeriesName =
  'allowed' | 'denied' | 'allowedTokens' | 'deniedTokens' | 'allowedUsd' | 'deniedUsd'

/** A tenant in a replay. */
export interface TenantReport {
  readonly tenant: string
  readonly plan: string | undefined
  readonly used: Use
  readonly denied: Use
  /** The denied calls by policy. */
  readonly policies: Readonly<Record<string, number>>
  /** ISO 8601. */
  readonly firstDeniedAt: string | undefined
  readonly lastDeniedAt: string | undefined
}

/** A policy in a replay. */
export interface PolicyReport {
  readonly name: string
  readonly unit: string
  /** Calls that it denied: a denial by several policies counts for the one that the denial names. */
  readonly denied: number
  readonly tenants: number
  /** The calls that it took part in. */
  readonly calls: number
  /** The largest share of its limit that was in use after a call, from 0 to 1; more where a settlement overran; 0 of credits. */
  readonly fullest: number
  /** The first denial, ISO 8601. */
  readonly firstDeniedAt: string | undefined
  readonly lastDeniedAt: string | undefined
}

/** Counts of allowed calls that a policy in shadow took part in. */
interface ShadowCounts {
  readonly requests: number
  /** The ones that it would have denied. */
  readonly denied: number
  /** The tokens of those. */
  readonly tokens: number
  /** Their micro-dollars. */
  readonly usd: number
}

/** Denials that a policy in shadow would have made: the form of `shadowReport` of `@sluice/usage/report`, too. */
export interface ShadowPolicyReport extends ShadowCounts {
  readonly policy: string
  /** The tenants that it would have denied, those with the most denials first. */
  readonly tenants: readonly (ShadowCounts & { readonly tenant: string })[]
}

/** A balance of credits in a replay. Units are those of its policy, such as micro-dollars. */
export interface BalanceReport {
  /** The values of the policy's dimensions, such as `{ tenant: 'acme' }`. */
  readonly subject: Readonly<Record<string, string>>
  /** Units before the first call. */
  readonly opening: number
  readonly charged: number
  /** Units left after the last call. */
  readonly left: number
  /** Calls that it had too little for. */
  readonly refused: number
  readonly refusedUnits: number
  /** The first call that it had too little for, or that left nothing, ISO 8601; `undefined` if it lasts. */
  readonly ranOutAt: string | undefined
}

/** A policy of credits in a replay. */
export interface CreditsReport {
  readonly policy: string
  readonly unit: string
  /** The balances: those with the most refused calls first, then those with the least left. */
  readonly balances: readonly BalanceReport[]
}

/** A replay of a log through one set of limits. */
export interface SetReport {
  readonly name: string
  readonly used: Use
  /** The denied calls. Their tokens and dollars are what the limits would have saved. */
  readonly denied: Use
  /** Calls that a leaky bucket or backpressure would have delayed. */
  readonly delayed: number
  readonly policies: readonly PolicyReport[]
  /** The policies of `credits`: none without an opening balance. */
  readonly credits: readonly CreditsReport[]
  /** The policies in shadow. */
  readonly shadow: readonly ShadowPolicyReport[]
  readonly omitted: readonly OmittedPolicy[]
  /** The budgets that its calls are counted in: partitions, by policy and tenant. */
  readonly partitions: number
  /** The tenants with denied calls, those with most of them first. */
  readonly tenants: readonly TenantReport[]
  /** The normal tenants with denied calls, and the number of all normal tenants. */
  readonly normal: { readonly tenants: number; readonly hurt: readonly TenantReport[] }
  readonly intervalMs: number
  readonly series: readonly Interval<SeriesName>[]
}

/** The log of a replay. */
export interface LogReport {
  readonly used: Use
  readonly tenants: number
  /** The first call and the last, ISO 8601. */
  readonly from: string | undefined
  readonly to: string | undefined
  /** Calls that the log shows as refused, with status 429. */
  readonly refused: number
  /** Calls without a cost in the log and without a price; their dollars count as 0. */
  readonly unpriced: number
  /** True if some calls have tokens. */
  readonly hasTokens: boolean
}

/** Calls by the decisions of two sets of limits. */
export interface Comparison {
  readonly bothAllow: number
  readonly bothDeny: number
  readonly onlyFirstDenies: number
  readonly onlySecondDenies: number
}

/** The differences between two sets of limits, over one log. */
export interface ComparedSets {
  readonly log: LogReport
  readonly comparison: Comparison
  /** The policies of the second set. */
  readonly policies: readonly PolicyReport[]
  /**
   * The Redis commands, as Upstash bills them, that each set takes at least for one decision of each call. Reads of
   * settings and tidying up logs come on top.
   */
  readonly commands: readonly [first: number, second: number]
}

/** A replay of a log. */
export interface Replay {
  readonly log: LogReport
  /** The definition of a normal tenant. */
  readonly normal: string
  /** Tenants of `except` that have no call. */
  readonly absent: readonly string[]
  /** Tenants with an opening balance of their own that have no call. */
  readonly unopened: readonly string[]
  /** One, or two of which the second is to be compared. */
  readonly sets: readonly SetReport[]
  readonly comparison: Comparison | undefined
}
