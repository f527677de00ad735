export const DAY_MS = 86_400_000

/** The time for which the id of a grant is known, in milliseconds: 90 days. An older grant is refused. */
export const GRANT_IDS_MS: number = 90 * DAY_MS

/** The most ids of grants and corrections that an account knows. */
export const MAX_GRANT_IDS = 10_000

/** The most lots of an account. */
export const MAX_LOTS = 64
