/**
 * The path that routes are written for, out of a request's URL: without the locale, and without what
 * Next.js puts around a path to ask for its data (`/_next/data/<build>/….json`, `.rsc`). `pathname` is
 * without `basePath` already.
 */
export function routePath(url: { readonly pathname: string }, locales: readonly string[]): string {
  const path = url.pathname
    .replace(/^\/_next\/data\/[^/]+(\/.*)\.json$/, '$1')
    .replace(/(\.segments\/.*)?\.rsc$/, '')
  const [, first = ''] = path.split('/')
  const isLocale = locales.some((locale) => locale.toLowerCase() === first.toLowerCase())
  return isLocale ? path.slice(1 + first.length) || '/' : path
}
