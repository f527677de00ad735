import type { Page } from 'playwright-core'

export const PAGE = 'playground/'

/** Resolves once the page has decided all requests of its fields. */
export const settled = (page: Page): Promise<void> =>
  page.locator('.pg-results[aria-busy=false] .pg-ms').waitFor()

/** A log as a reader chooses it. */
export const fileOf = (
  content: string | Buffer,
): { name: string; mimeType: string; buffer: Buffer } => ({
  name: 'requests.csv',
  mimeType: 'text/csv',
  buffer: Buffer.from(content as string),
})
