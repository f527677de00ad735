/** Noon on a Thursday, half a minute past: in the middle of a day and of a minute. */
export const NOON = Date.UTC(2026, 0, 15, 12, 0, 30)

/** The first midnight of a year, at which every fixed window and every calendar cap begins. */
export const MIDNIGHT = Date.UTC(2026, 0, 1)

export const SECOND = 1_000
export const MINUTE = 60_000
export const HOUR = 3_600_000
export const DAY = 86_400_000
