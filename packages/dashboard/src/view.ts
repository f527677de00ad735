/* The data that a dashboard streams. Amounts in dollars are micro-dollars, times are epoch milliseconds. */

/** One second or minute: counts within it, and amounts at its end. */
export interface Point {
  readonly allowed: number
  readonly denied: number
  /** Decisions without the store. They are counted as allowed or denied, too. */
  readonly degraded: number
  /** Tokens charged, less the tokens given back. May be negative. */
  readonly tokens: number
  /** The used part of the budgets at its end, with the estimates of calls that still run. */
  readonly usedUsd: number
  /** The estimates of calls that still run. */
  readonly heldUsd: number
  /** The budgets that `usedUsd` is a part of. */
  readonly budgetUsd: number
  /** The estimates of the calls that were denied and not allowed later, each counted once. */
  readonly avoidedUsd: number
}

/** One second or minute with activity. A later tick with the same `at` replaces it. */
export interface Tick {
  readonly at: number
  readonly all: Point
  readonly tenants: Readonly<Record<string, Point>>
}

/** A policy's state for one tenant. */
export interface PolicyView {
  readonly limiter: string
  readonly name: string
  /** The route, if the policy counts by it. */
  readonly route?: string
  readonly unit: string
  readonly limit: number
  readonly remaining: number
  readonly windowMs: number
  /** The time after which nothing of what is counted now counts any more. */
  readonly freshAt: number
  /** The end of this period as local time with its zone (RFC 9557). Only with a calendar. */
  readonly resetsAt?: string | undefined
  /** The requests that it has denied, or would have denied if it is a shadow. */
  readonly denied: number
  readonly enforced: boolean
  /** Set if the limit follows an upstream: the limit in the code, and the reason for the present one. */
  readonly adapted?: { readonly most: number; readonly why: string } | undefined
}

/** The calls of a tenant that asked for one choice, such as a model, and got this one. */
export interface ChoiceView {
  readonly asked: string
  /** The choice that was charged; `undefined` if none fitted. */
  readonly used?: string
  readonly calls: number
  /** A sentence for each choice that the latest of them passed over: none if it got the one asked for. */
  readonly passedOver: readonly string[]
}

/** The counts of one tenant since the dashboard began; its tokens since midnight UTC, as of daily budgets. */
export interface TenantView extends Point {
  readonly tenant: string
  readonly plan?: string
  /** The place that has decided last, if the store has several. */
  readonly place?: string
  readonly avoidedCalls: number
  readonly lastAt: number
  readonly policies: readonly PolicyView[]
  /** By the choice asked for and the one used. `undefined` if no call had any. */
  readonly choices?: readonly ChoiceView[]
}

/** The counts of all tenants together. */
export type Totals = Omit<
  TenantView,
  'tenant' | 'plan' | 'place' | 'lastAt' | 'policies' | 'choices'
>

/** The store, by the latest decision or problem. */
export interface StoreView {
  readonly state: 'unknown' | 'answering' | 'failing'
  /** The time of the last change of `state`. */
  readonly since: number
  /** The code of the failure. */
  readonly cause?: string
}

/** A problem that a limiter has reported, with the number of times. */
export interface ProblemView {
  readonly code: string
  readonly message: string
  readonly at: number
  readonly count: number
}

/** An observation about a tenant, or about all (`''`), that somebody should look at. */
export interface FindingView {
  readonly tenant: string
  /** A sentence with its evidence. */
  readonly text: string
}

/** The requests that a policy in shadow would have denied. Others denied none of them. */
export interface ShadowView {
  readonly policy: string
  /** The allowed requests that it took part in. */
  readonly requests: number
  /** The ones among them that it would have denied. */
  readonly denied: number
  /** The tokens of those, as estimated. */
  readonly tokens: number
  /** Their micro-dollars, as estimated. */
  readonly usd: number
  /** By tenant, the most denials first. */
  readonly tenants: readonly { readonly tenant: string; readonly denied: number }[]
}

/** The most tenants that a dashboard lists: the heaviest, and the most recently active. Totals contain the others. */
export const MAX_TENANTS = 200

/** All that a dashboard knows, or the parts that have changed. */
export interface View {
  /** The server's time. */
  readonly now: number
  readonly totals: Totals
  readonly store: StoreView
  readonly problems: readonly ProblemView[]
  /** The events of other processes that have not arrived, though later ones have. */
  readonly missing: number
  /** `undefined` if the option `report` makes none, and until the first report. */
  readonly findings?: readonly FindingView[]
  /** The policies in shadow; `undefined` as `findings` is. */
  readonly shadow?: readonly ShadowView[]
  /** The tenants that are listed. */
  readonly tenants: readonly TenantView[]
  /** True if `tenants` is the whole list; false if it is the changed part. */
  readonly isWholeList: boolean
  /** The tenants whose dollars are in the totals. */
  readonly knownTenants: number
  /** True if the dollars of other tenants are not: the totals are the least that is used. */
  readonly isPartial: boolean
  /** Seconds with activity, of the last five minutes. */
  readonly seconds: readonly Tick[]
  /** Minutes with activity, of the last three hours. */
  readonly minutes: readonly Tick[]
}
