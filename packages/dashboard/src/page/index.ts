export { dashboardPage, type PageOptions } from './page.ts'
export { escapeHtml, pageDocument, type DocumentOptions } from './document.ts'
export { PAGE_STYLE } from '../react/css.ts'
