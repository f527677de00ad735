export { createDashboard } from './dashboard.ts'
export type { Dashboard, DashboardOptions } from './dashboard.ts'
export { dashboardHandler } from './handler.ts'
export type { AnswerWhy, HandlerOptions } from './handler.ts'
export type {
  AbandonedRecord,
  DashboardRecord,
  DecisionRecord,
  PolicyFact,
  ProblemRecord,
  ReservedRecord,
  SettledRecord,
  SourceOptions,
} from './record.ts'
export type { MakeReport, Report } from './report.ts'
export type {
  FindingView,
  Point,
  PolicyView,
  ProblemView,
  ShadowView,
  StoreView,
  TenantView,
  Tick,
  Totals,
  View,
} from './view.ts'
