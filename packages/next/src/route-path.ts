/**
 * The path that routes are written for, out of one that Next.js takes for the same: without the locale,
 * and without what it puts around a path to ask for its data (`/_next/data/<build>/….json`, `.rsc`).
 * `path` is in lower case, and without `basePath` already.
 */
export function routePath(path: string, locales: readonly string[]): string {
  const bare = path
    .replace(/^\/_next\/data\/[^/]+(\/.*)\.json$/, '$1')
    .replace(/(\.segments\/.*|\.prefetch)?\.rsc$/, '')
  const [, first = ''] = bare.split('/')
  const isLocale = locales.some((locale) => locale.toLowerCase() === first)
  return (isLocale ? bare.slice(1 + first.length) : bare) || '/'
}
