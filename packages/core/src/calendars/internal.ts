/* The periods of calendars: the entry `internal/calendars`, for packages of Sluice. */
export type { Every } from '../policies/resets.ts'
export { periodAt, type Period, type Stroke } from './periods.ts'
export {
  ANCHOR_RULE,
  MIDNIGHT,
  strokeOfAnchor,
  strokeOfStart,
  type Anchor,
  type PeriodStart,
} from './stroke.ts'
export { firstInstant, isZone, localText, ZONE_RULE } from './zone.ts'
