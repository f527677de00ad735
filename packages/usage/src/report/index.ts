export { topUsers, topUsersText, type TopUser } from './top-users.ts'
export { usage, type UsageOptions } from './usage.ts'
export type { Time } from './read-stored.ts'
export type {
  ChoiceRow,
  LocalPeriod,
  Outcome,
  Period,
  PolicyUsageRow,
  Undivided,
  Usage,
  UsageCalendar,
  UsageRow,
} from '../rows.ts'
export { findings } from './findings/findings.ts'
export type { Finding, FindingKind, FindingsInput } from './findings/finding.ts'
export { shadowReport, shadowText, type ShadowPolicy, type ShadowReport } from './shadow-report.ts'
export { usageCsv, usageCsvLines } from './export/csv.ts'
export { focusCsv, focusCsvLines, type FocusOptions } from './export/focus.ts'
export { undividedTexts } from './calendar/undivided-text.ts'
