/** The outcome of requests: allowed, denied by a policy, or denied because the store failed. */
export type Outcome = 'allowed' | 'denied' | 'unavailable'

/** The length of the time that a row covers. */
export type Period = 'hour' | 'day'

/** The name of those who share a row because there were too many for a row each. */
export const OTHER = '(other)'

/** The name in corrections of reservations that nobody knows the request of. */
export const UNKNOWN = '(unknown)'

/** The requests of one tenant in one hour or day, by route, model, plan and outcome. */
export interface UsageRow {
  /** The start of the hour or day (UTC), in epoch ms. */
  readonly start: number
  /**
   * The tenant's id, or its hash, as `recordUsage` stores it; `''` for none, `'(other)'` for those above
   * `maxCells`, and `'(unknown)'` for corrections of reservations whose request is not known.
   */
  readonly tenant: string
  /** The route's id; `''` for none. */
  readonly route: string
  /** The model; `''` for none. */
  readonly model: string
  /** The plan that applied; `''` for none. */
  readonly plan: string
  /** The values of `recordUsage.dimensions`, if it has any; `''` for one that a request lacks. */
  readonly dimensions?: Readonly<Record<string, string>>
  readonly outcome: Outcome
  /** The number of requests. */
  readonly requests: number
  /**
   * Tokens, input and output together. Allowed: those that were used, which for a reservation is its estimate
   * until it is settled. Denied: an estimate of what was prevented, without retries.
   */
  readonly tokens: number
  /** Micro-dollars, counted as `tokens` are. */
  readonly usd: number
}

/** The use of one policy by one tenant in one hour or day. A policy whose limit changed has two rows. */
export interface PolicyUsageRow {
  /** The start of the hour or day (UTC), in epoch ms. */
  readonly start: number
  /** As in `UsageRow`. */
  readonly tenant: string
  /** The route's id if the policy counts by route; else `''`. */
  readonly route: string
  readonly policy: string
  /** The dimensions that the policy counts by, joined by `+`, such as `'tenant+route'`; or `'global'`. */
  readonly per: string
  readonly unit: string
  /** The units allowed per window. */
  readonly limit: number
  /** The window in milliseconds: 31 days for a calendar month. */
  readonly windowMs: number
  /** The algorithm and its parameters. Another text, or another `per`, begins the counts anew. */
  readonly counting?: string
  /** The requests that the policy took part in. */
  readonly requests: number
  /** The units charged, corrected when a reservation is settled. */
  readonly units: number
  /** The requests that were denied because of this policy. */
  readonly denied: number
  /** The allowed requests that the policy took part in while it was in shadow. */
  readonly shadowRequests: number
  /** The ones among them that it would have denied. */
  readonly shadowDenied: number
  /** The tokens of those requests, as estimated at the decision. */
  readonly shadowTokens: number
  /** The micro-dollars of those requests, as estimated at the decision. */
  readonly shadowUsd: number
}

/** The requests with choices of one tenant in one hour or day, by the model asked and the model used. */
export interface ChoiceRow {
  /** The start of the hour or day (UTC), in epoch ms. */
  readonly start: number
  /** As in `UsageRow`. */
  readonly tenant: string
  /** The route's id; `''` for none. */
  readonly route: string
  /** The model asked for: that of the first choice. */
  readonly asked: string
  /** The model of the choice that was charged; `''` if every choice was denied. */
  readonly model: string
  /** The policy that had no room for the first choice; `''` for none: it was charged, or its provider had failed. */
  readonly policy: string
  readonly requests: number
}

/** Rows of all that was used from `from` to `to`, sorted by time and tenant. */
export interface Usage {
  readonly by: Period
  /** The start of the first hour or day, in epoch ms. */
  readonly from: number
  /** The end, in epoch ms. */
  readonly to: number
  readonly rows: readonly UsageRow[]
  /** The allowed and denied requests of `rows` by quarter-hour, if they are by hour. Denied ones are counted only. */
  readonly quarters?: readonly UsageRow[]
  readonly policies: readonly PolicyUsageRow[]
  /** The requests with choices, if there are any. Each is in `rows`, too, with the model used. */
  readonly choices?: readonly ChoiceRow[]
}
