import { assertKnownOptions, assertText } from '@sluice/core/internal'
import { escapeHtml, pageDocument } from './document.ts'
import { SCRIPT } from './script.ts'

/** Options of `dashboardPage`. */
export interface PageOptions {
  /** The address of a `dashboardHandler`, as the browser sees it, such as `/api/dashboard`. */
  readonly url: string
  /** The title of the page. @default 'Limits' */
  readonly title?: string
}

/**
 * Creates the response with the live page: one HTML document with everything that it needs, for apps without React.
 * It has no data of its own; its script asks `dashboardHandler` at `url`, which decides who may watch. Its
 * Content-Security-Policy allows nothing else.
 *
 * @throws ConfigError When an option is unknown, or `url` is missing.
 * @example
 * app.get('/dashboard', () => dashboardPage({ url: '/api/dashboard' }))
 */
export function dashboardPage(options: PageOptions): Response {
  assertKnownOptions('dashboardPage', options, ['url', 'title'])
  const { url, title = 'Limits' } = options
  assertText('dashboardPage.url', url)
  assertText('dashboardPage.title', title)
  // The charts have headings of the third level: who listens to a page misses none.
  return pageDocument({
    title,
    url,
    script: SCRIPT,
    body: (nonce) =>
      `<h2>What the limiters decide</h2>
<div data-url="${escapeHtml(url)}" data-nonce="${nonce}"></div>`,
  })
}
