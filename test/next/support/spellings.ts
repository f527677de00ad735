/** A way to write a path that a handler may be found under. */
export interface Spelling {
  readonly name: string
  /** The request target. `path` is as the app's links have it, without the base path. */
  readonly write: (path: string, base: string, buildId: string) => string
  readonly method: 'GET' | 'POST'
}

const swap =
  (from: RegExp, to: string) =>
  (path: string, base: string): string =>
    base + path.replace(from, to)

const add =
  (suffix: string) =>
  (path: string, base: string): string =>
    base + path.replace(/\/$/, '') + suffix

const before =
  (prefix: string) =>
  (path: string, base: string): string =>
    base + prefix + path

const POSTED: Readonly<Record<string, Spelling['write']>> = {
  'as it is': add(''),
  'in upper case': (path, base) => base + path.toUpperCase(),
  'with a capital': swap(/\/e/, '/E'),
  'with a capital prefix': swap(/\/api/, '/Api'),
  'with its base path in upper case': (path, base) => base.toUpperCase() + path,
  'with a letter encoded': swap(/\/e/, '/%65'),
  'with a capital encoded': swap(/\/e/, '/%45'),
  'with a letter of the prefix encoded': swap(/\/api/, '/%61pi'),
  'with every letter encoded': (path, base) =>
    base + path.replace(/[a-z]/g, (letter) => `%${letter.charCodeAt(0).toString(16)}`),
  'with a letter encoded twice': swap(/\/e/, '/%2565'),
  'with a letter encoded three times': swap(/\/e/, '/%252565'),
  'with an encoded slash': swap(/(.)\/e/, '$1%2Fe'),
  'with an encoded slash, in lower case': swap(/(.)\/e/, '$1%2fe'),
  'with a slash encoded twice': swap(/(.)\/e/, '$1%252Fe'),
  'with all slashes encoded but the first': (path, base) =>
    `${base}/${path.slice(1).replaceAll('/', '%2F')}`,
  'with a backslash': swap(/(.)\/e/, '$1\\e'),
  'with backslashes only': (path, base) => (base + path).replaceAll('/', '\\'),
  'with an encoded backslash': swap(/(.)\/e/, '$1%5Ce'),
  'with a doubled slash': swap(/(.)\/e/, '$1//e'),
  'with a doubled slash at the start': (path, base) => `/${base}${path}`,
  'with three slashes in each place': (path, base) => base + path.replaceAll('/', '///'),
  'with a trailing slash': add('/'),
  'with two trailing slashes': add('//'),
  'with an encoded trailing slash': add('%2F'),
  'with a trailing backslash': add('\\'),
  'with a dot segment': swap(/(.)\/e/, '$1/./e'),
  'with an encoded dot segment': swap(/(.)\/e/, '$1/%2e/e'),
  'with a trailing dot segment': add('/.'),
  'with a parent segment': swap(/(.)\/e/, '$1/x/../e'),
  'with an encoded parent segment': swap(/(.)\/e/, '$1/x/%2e%2e/e'),
  'with a parent segment encoded twice': swap(/(.)\/e/, '$1/x/%252e%252e/e'),
  'with a parent segment and an encoded slash': swap(/(.)\/e/, '$1/x/..%2fe'),
  'with an encoded way to another route': swap(/\/e.*/, '/..%2Fevaluate'),
  'with an encoded way to a route elsewhere': swap(/\/e.*/, '/..%2F..%2Fai%2Fevaluate'),
  'from elsewhere by a parent segment': before('/static/..'),
  'from elsewhere by an encoded parent segment': before('/static/%2e%2e'),
  'from under _next by a parent segment': before('/_next/static/../..'),
  'with a matrix parameter': add(';x=1'),
  'with a matrix parameter on the prefix': swap(/\/api/, '/api;v=1'),
  'with an encoded matrix parameter': add('%3Bx=1'),
  'with .rsc': add('.rsc'),
  'with an encoded .rsc': add('%2Ersc'),
  'with .RSC': add('.RSC'),
  'with .json': add('.json'),
  'with .html': add('.html'),
  'with .prefetch.rsc': add('.prefetch.rsc'),
  'with .segments': add('.segments/_tree.segment.rsc'),
  'with .action': add('.action'),
  'with /route': add('/route'),
  'with /index': add('/index'),
  'with a segment encoded behind it': add('%2Fx'),
  'with a segment of parameters only': add('/;x=1'),
  'with a trailing dot': add('.'),
  'with an encoded space': add('%20'),
  'with an encoded tab in front': swap(/\/e/, '/%09e'),
  'with an encoded line break': add('%0a'),
  'with an encoded NUL': add('%00'),
  'with a plus sign': add('+'),
  'as data of a page': (path, base, id) => `${base}/_next/data/${id}${path}.json`,
  'as data of a page, without its suffix': (path, base, id) => `${base}/_next/data/${id}${path}`,
  'as data of a page of another build': (path, base) => `${base}/_next/data/x${path}.json`,
  'with a query': add('?a=1'),
  'with an RSC query': add('?_rsc=1abc2'),
  'with a query that Next.js uses itself': add('?__nextDataReq=1&__nextLocale=en&nxtPid=x'),
  'with a path in its query': add('?/api/other'),
  'with an encoded question mark': add('%3Fa=1'),
  'with a fragment': add('#top'),
  'with an encoded fragment': add('%23top'),
  'with an invalid escape': add('%zz'),
  'with a lone percent sign': add('%'),
  'with an overlong escape': swap(/(.)\/e/, '$1%c0%afe'),
  'with an invalid escape in front': before('/%zz/..'),
  'with a full-width letter': swap(/\/e/, '/%EF%BD%85'),
  'with an accent': swap(/\/e/, '/%C3%A9'),
  'with an accent, not encoded': swap(/\/e/, '/\u00e9'),
  'with a zero-width space': add('%E2%80%8B'),
  'very long': (path, base) => `${base}${path}?${'a'.repeat(6_000)}`,
  'with very many dot segments': (path, base) => base + '/.'.repeat(1_000) + path,
  'with a locale in front': before('/en'),
  'with its base path twice': (path, base) => base + (base || '/app') + path,
  'without its base path': (path) => path,
  'as an absolute URL': (path, base) => `http://127.0.0.1${base}${path}`,
  'as an absolute URL of another host': (path, base) => `http://elsewhere.example${base}${path}`,
}

/** What Next.js fetches by itself for whoever asks. */
const image: Spelling = {
  name: 'as the image optimizer asks for it',
  method: 'GET',
  write: (path, base) => `${base}/_next/image?url=${encodeURIComponent(base + path)}&w=640&q=75`,
}

export const SPELLINGS: readonly Spelling[] = [
  ...Object.entries(POSTED).map(([name, write]) => ({ name, write, method: 'POST' as const })),
  image,
]
