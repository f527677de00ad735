/** Options of `pageDocument`. */
export interface DocumentOptions {
  /** The title of the document, and its heading. */
  readonly title: string
  /** Returns the markup below the title. Styles that a script adds need the nonce. */
  readonly body: (nonce: string) => string
  /** JavaScript to run after it. */
  readonly script: string
  /** CSS, beside that of the frame. @default none */
  readonly style?: string
  /** The address that the script asks. @default the origin of the page */
  readonly url?: string
}

const STYLE = `
:root { color-scheme: light dark; }
body { margin: 0; background: light-dark(#f4f6f8, #11161b); color: light-dark(#17202a, #e8edf2); }
main { max-width: 1280px; margin: 0 auto; padding: 16px; }
h1 { margin: 0 0 12px; font: 600 22px/1.3 system-ui, sans-serif; }
h2 { position: absolute; width: 1px; height: 1px; margin: 0; overflow: hidden; clip-path: inset(50%); }
`

/**
 * Creates the response with a page for operators: one HTML document with everything that it needs. Its
 * Content-Security-Policy allows its script, its styles and requests to the origin of `url`, and nothing else.
 *
 * @example
 * pageDocument({ title: 'Spend', body: () => '<p id="spend"></p>', script: SCRIPT, style: PAGE_STYLE })
 */
export function pageDocument({ title, body, script, style, url = '' }: DocumentOptions): Response {
  const nonce = crypto.randomUUID()
  // A document without an icon makes browsers ask the server for one.
  const html = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)}</title>
<link rel="icon" href="data:,">
<style nonce="${nonce}">${STYLE}${style ?? ''}</style>
</head>
<body>
<main>
<h1>${escapeHtml(title)}</h1>
${body(nonce)}
</main>
<script nonce="${nonce}">${script}</script>
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

/** Returns text as markup, also within the quotes of an attribute. */
export const escapeHtml = (text: string): string =>
  text.replace(/[&<>"]/g, (sign) => ENTITIES[sign] ?? '')
