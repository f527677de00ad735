import { assertKnownOptions, assertText } from '@sluice/core/internal'
import { SCRIPT } from './script.ts'

/** Options of `dashboardPage`. */
export interface PageOptions {
  /** The address of a `dashboardHandler`, as the browser sees it, such as `/api/dashboard`. */
  readonly url: string
  /** The title of the page. @default 'Limits' */
  readonly title?: string
}

const STYLE = `
:root { color-scheme: light dark; }
body { margin: 0; background: light-dark(#f4f6f8, #11161b); color: light-dark(#17202a, #e8edf2); }
main { max-width: 1280px; margin: 0 auto; padding: 16px; }
h1 { margin: 0 0 12px; font: 600 22px/1.3 system-ui, sans-serif; }
h2 { position: absolute; width: 1px; height: 1px; margin: 0; overflow: hidden; clip-path: inset(50%); }
`

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
  const nonce = crypto.randomUUID()
  // A document without an icon makes browsers ask the server for one. The charts have headings of the third level: who
  // listens to a page misses none.
  const html = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)}</title>
<link rel="icon" href="data:,">
<style nonce="${nonce}">${STYLE}</style>
</head>
<body>
<main>
<h1>${escapeHtml(title)}</h1>
<h2>What the limiters decide</h2>
<div data-url="${escapeHtml(url)}" data-nonce="${nonce}"></div>
</main>
<script nonce="${nonce}">${SCRIPT}</script>
</body>
</html>
`
  const headers = {
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': contentPolicy(url, nonce),
    // A nonce is for one response.
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
  }
  return new Response(html, { headers })
}

function contentPolicy(url: string, nonce: string): string {
  const stream = URL.canParse(url) ? new URL(url).origin : "'self'"
  const own = `'nonce-${nonce}'`
  return [
    "default-src 'none'",
    `script-src ${own}`,
    `style-src ${own}`,
    `connect-src ${stream}`,
    'img-src data:',
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ')
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
}

const escapeHtml = (text: string): string => text.replace(/[&<>"]/g, (sign) => ENTITIES[sign] ?? '')
