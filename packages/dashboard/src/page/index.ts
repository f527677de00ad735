export { dashboardPage } from './page.ts'
export type { PageOptions } from './page.ts'
