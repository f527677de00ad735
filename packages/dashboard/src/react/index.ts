export { Dashboard } from './dashboard.tsx'
export type { DashboardProps } from './dashboard.tsx'
