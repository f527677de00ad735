export { createDashboard, type Dashboard, type DashboardOptions } from './server/dashboard.ts'
export { dashboardHandler, type AnswerWhy, type HandlerOptions } from './server/handler.ts'
export type {
  AbandonedRecord,
  DashboardRecord,
  DecisionRecord,
  PolicyFact,
  ProblemRecord,
  ReservedRecord,
  SettledRecord,
  SourceOptions,
} from './records/record.ts'
export type { MakeReport, Report } from './report.ts'
export type {
  ChoiceView,
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
