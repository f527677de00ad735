/** The outcome of requests: allowed, denied by a policy, or denied because the store failed. */
export type Outcome = 'allowed' | 'denied' | 'unavailable'

/** The length of the time that a row covers. */
export type Period = 'hour' | 'day' | 'week' | 'month' | 'year'

/** The lengths of time that are stored. Others are sums of them. */
export type StoredPeriod = 'hour' | 'day'

/** The name of those who share a row because there were too many for a row each. */
export const OTHER = '(other)'

/** The name in corrections of reservations that nobody knows the request of. */
export const UNKNOWN = '(unknown)'

/** The start of what a row covers. */
interface Started {
  /** The start of the hour, day or other period, in epoch ms: in UTC, unless it is one of a calendar. */
  readonly start: number
  /** With a calendar, the same as local time (RFC 9557): `2026-11-01T00:00:00+01:00[Europe/Berlin]`. */
  readonly startsAt?: string
}

/** The requests of one tenant in one period, by route, model, plan and outcome. */
export interface UsageRow extends Started {
  /**
   * The tenant's id, or its hash, as `recordUsage` stores it; `''` for none, `'(other)'` for those above
   * `maxCells`, and `'(unknown)'` for corrections of reservations whose request is not known.
   */
  readonly tenant: string
  /** The route's id; `''` for none, `'(unknown)'` for corrections of reservations that were released, or settled by their id. */
  readonly route: string
  /** The model; `''` for none, `'(unknown)'` as of a route. */
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

/** The use of one policy by one tenant in one period. A policy whose limit changed has two rows. */
export interface PolicyUsageRow extends Started {
  /** As in `UsageRow`. */
  readonly tenant: string
  /** The route's id if the policy counts by route; else `''`. `'(unknown)'` as in `UsageRow`. */
  readonly route: string
  readonly policy: string
  /** The dimensions that the policy counts by, joined by `+`, such as `'tenant+route'`; or `'global'`. */
  readonly per: string
  readonly unit: string
  /** The units allowed per window; 0 for `credits`, which have none. */
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

/** The requests with choices of one tenant in one period, by the model asked and the model used. */
export interface ChoiceRow extends Started {
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

/** A period of a calendar, from its start to the start of the next one. */
export interface LocalPeriod {
  /** In epoch ms. */
  readonly start: number
  /** In epoch ms. */
  readonly end: number
  /** The start as local time (RFC 9557): `2026-11-01T00:00:00+01:00[Europe/Berlin]`. */
  readonly startsAt: string
  readonly endsAt: string
}

/** A stored hour or day (UTC) of which a part lies in another period than the one that all of it counts to. */
export interface Undivided {
  /** In epoch ms. */
  readonly start: number
  /**
   * An hour: allowed and denied requests are divided by quarter-hour, and only what is stored by hour is not: policies,
   * choices, `'unavailable'` and prevented cost. A day: nothing is divided, because its hours are not kept.
   */
  readonly by: StoredPeriod
  /** The time of it that lies in another period, in milliseconds. */
  readonly shiftedMs: number
}

/** The calendar that periods are those of. */
export interface UsageCalendar {
  /** The time zone, such as `'Europe/Berlin'`. */
  readonly zone: string
  /** `from` as local time (RFC 9557): `2026-11-01T00:00:00+01:00[Europe/Berlin]`. */
  readonly startsAt: string
  /** `to` as local time. */
  readonly endsAt: string
  /** All periods from `from` to `to`, also those without rows. None by hour: hours are those of UTC. */
  readonly periods: readonly LocalPeriod[]
  /** The months that these lie in, which begin on the day and hour of `on` or `anchor`. */
  readonly months: readonly LocalPeriod[]
  /** The stored hours and days that could not be divided exactly: each counts once, to the period that most of it lies in. */
  readonly undivided: readonly Undivided[]
}

/** Rows of all that was used from `from` to `to`, sorted by time and tenant. */
export interface Usage {
  readonly by: Period
  /** The start of the first period, in epoch ms. */
  readonly from: number
  /** The end, in epoch ms. */
  readonly to: number
  /** The calendar, if `usage` was asked for one. */
  readonly calendar?: UsageCalendar
  readonly rows: readonly UsageRow[]
  /** The allowed and denied requests of `rows` by quarter-hour, if they are by hour. Denied ones are counted only. */
  readonly quarters?: readonly UsageRow[]
  readonly policies: readonly PolicyUsageRow[]
  /** The requests with choices, if there are any. Each is in `rows`, too, with the model used. */
  readonly choices?: readonly ChoiceRow[]
}
