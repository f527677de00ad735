export { credits, type CreditsOptions, type IncludedCredits } from './credits.ts'
export {
  adjust,
  grant,
  revoke,
  settleHold,
  type AdjustOptions,
  type GrantOptions,
  type RevokeOptions,
  type SettleHoldOptions,
} from './grants.ts'
export type { Instant } from './grant-input.ts'
export type { CreditsChange } from './run-change.ts'
export { lowBalance, type LowBalance, type LowBalanceOptions } from './low-balance.ts'
export { balance, type Balance, type BalanceLot, type OpenHold } from './balance.ts'
export type { CreditsChoice } from './find-credits.ts'
export { creditAlgorithm, creditOperations } from './own-kinds.ts'
export {
  journal,
  type JournalEntry,
  type JournalKind,
  type JournalLot,
  type JournalOptions,
} from './journal.ts'
export { auditCredits, type AuditOptions, type CreditsFault } from './audit.ts'
export {
  deleteCredits,
  exportCredits,
  exportedJournal,
  importCredits,
  type CreditsImport,
  type DeleteOptions,
} from './export.ts'
