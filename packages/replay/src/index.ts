// Logs
export { openLog, type Log } from './log/open-log.ts'
export type { LogOptions, ParsedLog } from './log/read-log.ts'
export type { LogFacts } from './log/facts.ts'
export type { LogFormat } from './log/formats.ts'
export type { Call, CallSum } from './call.ts'

// Replays
export { compare, replay } from './simulation/replay.ts'
export type { CompareOptions, Denial, ReplayOptions } from './simulation/replay.ts'
export type { OpeningBalance } from './simulation/opening-balances.ts'
export { policySet } from './simulation/policy-set.ts'
export type { Limits, OmittedPolicy, PolicySet } from './simulation/policy-set.ts'

// Recorded denials
export { judgeDenials, type JudgedDenial, type PastDenial } from './simulation/judge-denials.ts'

// Bounds of a change, where only sums are known
export { boundDenials, type ChangeBounds } from './bounds/bound-denials.ts'
export type { Bounds, DenialBounds, TenantBounds } from './bounds/change.ts'

// Mistakes
export { findMistakes, type Mistake, type MistakeFinder } from './mistakes/find-mistakes.ts'

// The smallest limits
export { suggestLimits } from './limits/suggest-limits.ts'
export type { SuggestedLimit, Suggestion, SuggestOptions } from './limits/suggest-limits.ts'

// Reports
export { leftOutText, readingNotes } from './report/notes.ts'
export { suggestionNotes } from './report/suggestion.ts'
export { suggestionTable } from './report/tables.ts'
export type { Table } from './report/text-table.ts'
export { renderText } from './report/text.ts'
export type {
  BalanceReport,
  ComparedSets,
  Comparison,
  CreditsReport,
  LogReport,
  PolicyReport,
  Replay,
  SeriesName,
  SetReport,
  ShadowPolicyReport,
  TenantReport,
  Use,
} from './simulation/report-types.ts'
