export { dashboardPage, type PageOptions } from './page.ts'
