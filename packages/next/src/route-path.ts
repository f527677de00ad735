/**
 * The path that routes are written for, out of one that Next.js takes for the same: without the locale,
 * and without what it puts around a path to ask for its data (`/_next/data/<build>/….json`, `.rsc`).
 * `path` is in lower case, and without `basePath` already.
 */
export function routePath(path: string, locales: readonly string[]): string {
  const page = path.replace(/^\/_next\/data\/[^/]+(\/.*)\.json$/s, '$1')
  const bare = page.endsWith('.rsc') ? withoutDataSuffix(page.slice(0, -4)) : page
  const [, first = ''] = bare.split('/')
  const isLocale = locales.some((locale) => locale.toLowerCase() === first)
  return (isLocale ? bare.slice(1 + first.length) : bare) || '/'
}

/** Without `.prefetch`, or the first `.segments/` and all that follows it. */
function withoutDataSuffix(path: string): string {
  const at = path.indexOf('.segments/')
  return at < 0 ? path.replace(/\.prefetch$/, '') : path.slice(0, at)
}
