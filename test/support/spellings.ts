/** The routes of the table: one path, and a wider pattern that holds it. */
export const ROUTES = [
  { path: '/api/ai/evaluate', id: 'evaluate' },
  { path: '/api/ai/**', id: 'ai' },
] as const

/** A way to write the path of a route, and the route that a request for it counts as. */
export interface Spelling {
  readonly name: string
  /** The request target. `path` ends in a segment that begins with `e`; `base` stands before it. */
  readonly write: (path: string, base?: string) => string
  /** One of `ROUTES`, or undefined if the path is outside of both. */
  readonly route: (typeof ROUTES)[number]['id'] | undefined
}

type Write = (path: string, base: string) => string

const swap =
  (from: RegExp, to: string): Write =>
  (path, base) =>
    base + path.replace(from, to)

const add =
  (suffix: string): Write =>
  (path, base) =>
    base + path.replace(/\/$/, '') + suffix

const before =
  (prefix: string): Write =>
  (path, base) =>
    base + prefix + path

/** Spellings of the route itself: some server or router takes each of them for the path. */
const SAME: Readonly<Record<string, Write>> = {
  'as it is': add(''),
  'in upper case': (path, base) => base + path.toUpperCase(),
  'with a capital': swap(/\/e/, '/E'),
  'with a capital prefix': swap(/\/api/, '/Api'),
  'with a capital in each segment': (path, base) =>
    base + path.replace(/\/[a-z]/g, (start) => start.toUpperCase()),
  'with a letter encoded': swap(/\/e/, '/%65'),
  'with a capital encoded': swap(/\/e/, '/%45'),
  'with a capital encoded before others': (path, base) =>
    base + path.replace(/\/e([^/]*)$/, (_, rest: string) => `/%45${rest.toUpperCase()}`),
  'with a capital encoded behind others': (path, base) =>
    base + path.replace(/([^/]*)e$/, (_, rest: string) => `${rest.toUpperCase()}%45`),
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
  'with all slashes as encoded backslashes but the first': (path, base) =>
    `${base}/${path.slice(1).replaceAll('/', '%5c')}`,
  'with a doubled slash': swap(/(.)\/e/, '$1//e'),
  'with a doubled slash at the start': (path, base) => `/${base}${path}`,
  'with a doubled slash and a tripled one': (path, base) =>
    base + path.replace(/(.)\//, '$1//').replace(/\/e/, '///e'),
  'with three slashes in each place': (path, base) => base + path.replaceAll('/', '///'),
  'with a trailing slash': add('/'),
  'with two trailing slashes': add('//'),
  'with an encoded trailing slash': add('%2F'),
  'with a trailing backslash': add('\\'),
  'with a dot segment': swap(/(.)\/e/, '$1/./e'),
  'with a dot segment at the start': before('/.'),
  'with a dot segment in each place': (path, base) => base + path.replace(/(.)\//g, '$1/./'),
  'with an encoded dot segment': swap(/(.)\/e/, '$1/%2e/e'),
  'with an encoded dot segment behind the prefix': swap(/\/api/, '/api/%2e'),
  'with a trailing dot segment': add('/.'),
  'with a parent segment': swap(/(.)\/e/, '$1/x/../e'),
  'with a parent segment and its own folder': swap(/([^/]+)\/e/, '$1/../$1/e'),
  'with a half encoded parent segment': swap(/(.)\/e/, '$1/x/.%2E/e'),
  'with an encoded parent segment': swap(/(.)\/e/, '$1/x/%2e%2e/e'),
  'with a parent segment encoded twice': swap(/(.)\/e/, '$1/x/%252e%252e/e'),
  'with a parent segment and an encoded slash': swap(/(.)\/e/, '$1/x/..%2fe'),
  'from above the root': before('/../..'),
  'from elsewhere by a parent segment': before('/static/..'),
  'from elsewhere by an encoded parent segment': before('/static/%2e%2e'),
  'from under _next by a parent segment': before('/_next/static/../..'),
  'with a matrix parameter': add(';x=1'),
  'with a matrix parameter on the prefix': swap(/\/api/, '/api;v=1'),
  'with a matrix parameter on its folder': swap(/(.)\/e/, '$1;v=1/e'),
  'with several matrix parameters': (path, base) =>
    base + path.replace(/(.)\/e/, '$1;v=2/e').replace(/\/?$/, ';x=1;y'),
  'with an encoded matrix parameter': add('%3Bx=1'),
  'with a segment of parameters only': add('/;x=1'),
  'with an encoded space': add('%20'),
  'with an encoded tab': add('%09'),
  'with an encoded tab in front': swap(/\/e/, '/%09e'),
  'with an encoded line break': add('%0a'),
  'with an encoded NUL': add('%00'),
  'with an encoded NUL behind a slash': add('/%00'),
  'with a query': add('?a=1'),
  'with an empty query': add('?'),
  'with an RSC query': add('?_rsc=1abc2'),
  'with a query that Next.js uses itself': add('?__nextDataReq=1&__nextLocale=en&nxtPid=x'),
  'with a path in its query': add('?/api/other'),
  'with parent segments in its query': add('?/../../public'),
  'with an encoded question mark': add('%3Fa=1'),
  'with a fragment': add('#top'),
  'with an encoded fragment': add('%23top'),
  'with an invalid escape in front': before('/%zz/..'),
  'with a very long query': (path, base) => `${base}${path}?${'a'.repeat(6_000)}`,
  'with very many dot segments': (path, base) => base + '/.'.repeat(1_000) + path,
  'as an absolute URL': (path, base) => `http://127.0.0.1${base}${path}`,
  'as an absolute URL of another host': (path, base) => `http://elsewhere.example${base}${path}`,
}

/** Paths that only a wider pattern counts: they stand beside or below the path of the route. */
const WIDER: Readonly<Record<string, Write>> = {
  'with an encoded way to another route': swap(/\/e.*/, '/..%2Fevaluate'),
  'with an encoded way to a route elsewhere': swap(/\/e.*/, '/..%2F..%2Fai%2Fevaluate'),
  'with an encoded way out behind it': add('/..%2f..%2f..%2fpublic'),
  'with an encoded way back behind it': add('/x%2f..%2f..'),
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
  'with segments behind it': add('/sub/path'),
  'with a segment encoded behind it': add('%2Fx'),
  'with a trailing dot': add('.'),
  'with a plus sign': add('+'),
  'with an invalid escape': add('%zz'),
  'with an invalid escape behind it': add('/%zz'),
  'with a lone percent sign': add('%'),
  'with a lone percent sign behind it': add('/%'),
  'with an overlong escape behind it': add('/%c0%af'),
  'with a full-width letter': swap(/\/e/, '/%EF%BD%85'),
  'with an accent': swap(/\/e/, '/%C3%A9'),
  'with an accent, not encoded': swap(/\/e/, '/\u00e9'),
  'with a zero-width space': add('%E2%80%8B'),
}

/** Paths that neither route counts, however a server may read them. */
const ELSEWHERE: Readonly<Record<string, Write>> = {
  'with an overlong escape': swap(/(.)\/e/, '$1%c0%afe'),
  'with a locale in front': before('/en'),
}

const rows = (table: Readonly<Record<string, Write>>, route: Spelling['route']): Spelling[] =>
  Object.entries(table).map(([name, write]) => ({
    name,
    write: (path, base = '') => write(path, base),
    route,
  }))

/** Ways to write the path of a route. Each adapter is held to all of them. */
export const SPELLINGS: readonly Spelling[] = [
  ...rows(SAME, 'evaluate'),
  ...rows(WIDER, 'ai'),
  ...rows(ELSEWHERE, undefined),
]

/** Spellings that count as the route itself. */
export const SAME_ROUTE: readonly Spelling[] = SPELLINGS.filter(({ route }) => route === 'evaluate')

/** Paths that all count as `/api/models/:model`, whatever a router takes the parameter for. */
export const PARAMETER_SPELLINGS: readonly string[] = [
  '/api/models/large',
  '/api/models/meta%2fllama',
  '/api/models/meta%2Fllama%2f',
  '/api/models/%2f',
  '/api/models/;x',
  '/api/models/%3bx',
  '/api/models/a;b',
  '/api/models/a%5cb',
  '/api/models/a%3fb',
  '/api/models/%23',
  '/api/models/%20',
  '/api/models/%e2%82%ac',
  '/api/models/%c0%af',
  '/api/models/%zz',
  '/api/models/..%2fx',
  '/api/models/x%2f..%2f..%2f..%2fpublic',
  '/API/Models/large',
  '/api/%6dodels/meta%2fllama',
]

/** The URL that a Fetch API server makes of a request target. */
export const urlOf = (target: string): string =>
  target.startsWith('http') ? target : `https://app.example${target}`
