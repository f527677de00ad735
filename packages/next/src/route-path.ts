/**
 * Returns the path that a route is written for: without the locale, and without the prefix and suffixes
 * with which Next.js requests a page's data (`/_next/data/<build>/….json`, `.rsc`). `path` is in lower
 * case and has no `basePath`.
 */
export function routePath(path: string, locales: readonly string[]): string {
  const page = path.replace(/^\/_next\/data\/[^/]+(\/.*)\.json$/s, '$1')
  const bare = page.endsWith('.rsc') ? withoutDataSuffix(page.slice(0, -4)) : page
  const [, first = ''] = bare.split('/')
  const isLocale = locales.some((locale) => locale.toLowerCase() === first)
  return (isLocale ? bare.slice(1 + first.length) : bare) || '/'
}

/** Removes `.prefetch`, or the first `.segments/` and everything after it. */
function withoutDataSuffix(path: string): string {
  const at = path.indexOf('.segments/')
  return at < 0 ? path.replace(/\.prefetch$/, '') : path.slice(0, at)
}
