/** A project's files, by their paths; a text of `null` takes one away. */
export type Files = Readonly<Record<string, string | null>>

export const MIDDLEWARE = `import { rateLimit } from '@sluice/next'
export const middleware = rateLimit(limiter, { routes, subject })
`
export const POST = 'export async function POST() {}\n'
const OURS = `import { withRateLimit } from '@sluice/next'\n`
export const WRAPPED = `${OURS}export const POST = withRateLimit(ask, options)\n`
const ROUTE = 'app/api/ai/a/route.ts'
const ACTIONS = `'use server'\nexport async function ask() {}\n`
const PAGE = 'export default function Page() {}\n'

const matcher = (text: string): string =>
  `${MIDDLEWARE}export const config = { matcher: ${text} }\n`

/** Apps that answer below /api/ai without a limit, though the routes given are `/limited/**`. */
export const OPEN_HANDLERS: Readonly<Record<string, Files>> = {
  'whose wrapper is commented out': {
    [ROUTE]: `${OURS}export const POST =\n  // withRateLimit(ask, options)\n  ask\n`,
  },
  'whose wrapper is in a block comment': {
    [ROUTE]: `/*\n${WRAPPED}*/\n${POST}`,
  },
  'whose wrapper stands in a template string': {
    [ROUTE]: `${OURS}export const example = \`\nexport const POST = withRateLimit(ask)\n\`\n${POST}`,
  },
  'whose withRateLimit is home-made': {
    [ROUTE]: `const withRateLimit = (handler) => handler\nexport const POST = withRateLimit(ask)\n`,
  },
  'whose withRateLimit comes from another package': {
    [ROUTE]: `import { withRateLimit } from 'another'\nexport const POST = withRateLimit(ask)\n`,
  },
  'whose withRateLimit comes from a file of its own that makes one': {
    'lib/limit.ts': 'export const withRateLimit = (handler) => handler\n',
    [ROUTE]: `import { withRateLimit } from '@/lib/limit'\nexport const POST = withRateLimit(ask)\n`,
  },
  'that exports another function under the name of a method': {
    [ROUTE]: `${OURS}const POST = withRateLimit(ask, options)\nexport { ask as POST }\n`,
  },
  'whose wrapper is around a method of the same name in a function': {
    [ROUTE]: `${OURS}function make() {\nconst POST = withRateLimit(ask, options)\n}\n${POST}`,
  },
  'whose wrapped handler may be replaced': {
    [ROUTE]: `${OURS}export let POST = withRateLimit(ask, options)\nPOST = ask\n`,
  },
  'that wraps on a condition': {
    [ROUTE]: `${OURS}export const POST = live ? withRateLimit(ask, options) : ask\n`,
  },
  'that only mentions the wrapper': {
    [ROUTE]: `${OURS}export const POST = ask(withRateLimit)\n`,
  },
  'with an OPTIONS handler beside a wrapped one': {
    [ROUTE]: `${WRAPPED}export async function OPTIONS() {}\n`,
  },
  'with a HEAD handler beside a wrapped one': {
    [ROUTE]: `${WRAPPED}export async function HEAD() {}\n`,
  },
  'with a handler in pages/api': { 'pages/api/ai/a.ts': 'export default function handler() {}\n' },
  'with a handler in src/pages/api': {
    'src/pages/api/ai/index.ts': 'export default function handler() {}\n',
  },
  'whose handlers have an ending from pageExtensions': {
    'next.config.ts': `export default { pageExtensions: ['api.ts', 'page.tsx'] }\n`,
    'middleware.ts': null,
    'middleware.api.ts': MIDDLEWARE,
    'app/api/ai/a/route.api.ts': POST,
  },
  'with handlers in CommonJS': { [ROUTE]: 'module.exports = { POST() {} }\n' },
  'whose page runs a server function of a file': {
    'lib/actions.ts': ACTIONS,
    'app/api/ai/page.tsx': PAGE,
  },
  'whose page has a server function within': {
    'app/api/ai/page.tsx': `export default function Page() {\nasync function ask() { 'use server' }\nreturn <form action={ask} />\n}\n`,
  },
}

/** Apps whose limiter has the route of each handler, and whose middleware does not run for all. */
export const OPEN_MIDDLEWARE: Readonly<Record<string, Files>> = {
  'without a middleware': { 'middleware.ts': null },
  'whose middleware lies beside src': { [ROUTE]: null, [`src/${ROUTE}`]: POST },
  'whose middleware does not call the limiter': {
    'middleware.ts': `import { rateLimit } from '@sluice/next'\nexport const limited = rateLimit(limiter, options)\nexport function middleware() {}\n`,
  },
  'whose middleware has a rateLimit of its own': {
    'middleware.ts':
      'const rateLimit = () => () => {}\nexport const middleware = rateLimit(limiter)\n',
  },
  'whose middleware is exported as proxy': {
    'middleware.ts': MIDDLEWARE.replace('const middleware', 'const proxy'),
  },
  'whose matcher has another path': { 'middleware.ts': matcher(`'/api/ia/:path*'`) },
  'whose matcher takes one segment less': {
    [ROUTE]: null,
    'app/api/ai/[...path]/route.ts': POST,
    'middleware.ts': matcher(`['/api/ai/:path']`),
  },
  'whose matcher leaves the API out': { 'middleware.ts': matcher(`['/((?!api|_next).*)']`) },
  'whose matcher has one value of a dynamic segment': {
    [ROUTE]: null,
    'app/api/ai/[model]/route.ts': POST,
    'middleware.ts': matcher(`['/api/ai/gpt']`),
  },
  'whose matcher asks for a header': {
    'middleware.ts': matcher(
      `[{ source: '/api/ai/:path*', has: [{ type: 'header', key: 'x-a' }] }]`,
    ),
  },
  'whose matcher asks that a header is missing': {
    'middleware.ts': matcher(
      `[{ source: '/api/ai/:path*', missing: [{ type: 'header', key: 'purpose' }] }]`,
    ),
  },
  'whose matcher is empty': { 'middleware.ts': matcher('[]') },
  'whose proxy has a matcher with another path': {
    'middleware.ts': null,
    'proxy.ts': matcher(`'/api/ia/:path*'`).replace('const middleware', 'const proxy'),
  },
}

const LIMIT = `import { rateLimit } from '@sluice/next'\nconst limit = rateLimit(limiter, options)\n`
const running = (body: string): Files => ({
  'middleware.ts': `${LIMIT}export async function middleware(request, event) { ${body} }\n`,
})
const NEXT = 'return NextResponse.next()'

/** Apps whose middleware calls the limiter, or seems to, and answers without its answer. */
export const DROPPED_ANSWERS: Readonly<Record<string, Files>> = {
  'after a call': running(`await limit(request, event); ${NEXT}`),
  'in a variable': running(`const response = await limit(request, event); ${NEXT}`),
  'in a variable that is overwritten': running(
    `let response = await limit(request, event); response = NextResponse.next(); return response`,
  ),
  'in a condition that returns nothing': running(
    `if ((await limit(request, event)).status === 429) console.log('denied'); ${NEXT}`,
  ),
  'by waitUntil': running(`event.waitUntil(limit(request, event)); ${NEXT}`),
  'by waitUntil as the result': running(`return event.waitUntil(limit(request, event))`),
  'by &&': running('return limit(request, event) && NextResponse.next()'),
  'by a comma': running('return (limit(request, event), NextResponse.next())'),
  'by void': running('return void limit(request, event)'),
  'by then': running('return limit(request, event).then(() => NextResponse.next())'),
  'but for its headers': running(
    `const { headers } = await limit(request, event); return NextResponse.next({ headers })`,
  ),
  'after a return': running(`${NEXT}; return limit(request, event)`),
  'where the code is off': running('if (false) return limit(request, event)'),
  'in a function that nothing calls': running(
    `const ask = () => limit(request, event); function again() { return ask() } ${NEXT}`,
  ),
  'in a function whose answer is dropped': running(
    `const ask = async () => { await limit(request, event) }; return ask()`,
  ),
  'in a function of another file that drops it': {
    'lib/ask.ts': `${LIMIT}export async function ask(request) { await limit(request); return undefined }\n`,
    'middleware.ts': `import { ask } from './lib/ask'\nexport const middleware = (request) => ask(request)\n`,
  },
  'as the limiter is created and not called': running(`rateLimit(limiter, options); ${NEXT}`),
  'as the limiter is returned and not called': running('return limit'),
  'as a parameter has its name': {
    'middleware.ts': `${LIMIT}export const middleware = (request, limit) => limit(request)\n`,
  },
  'by a function of a package': {
    'middleware.ts': `import { chain } from 'chain'\n${LIMIT}export default chain(() => NextResponse.next(), limit)\n`,
  },
  'on a condition, by another function': {
    'middleware.ts': `${LIMIT}export const middleware = live ? limit : () => NextResponse.next()\n`,
  },
  'in a circle': running('let again = () => again(); return again()'),
}

/** Apps that are limited whatever the routes. */
export const WRAPPED_HANDLERS: Readonly<Record<string, Files>> = {
  'that wraps its handler': { [ROUTE]: WRAPPED },
  'that wraps it under another name': {
    [ROUTE]: `import { withRateLimit as limit } from '@sluice/next'\nexport const POST = limit(ask, options)\n`,
  },
  'that wraps it by a namespace': {
    [ROUTE]: `import * as sluice from '@sluice/next'\nexport const POST = sluice.withRateLimit(ask, options)\n`,
  },
  'that exports what it has wrapped': {
    [ROUTE]: `${OURS}const limited = withRateLimit(ask, options)\nexport { limited as POST, limited as PUT }\n`,
  },
  'that says the type of what it wraps': {
    [ROUTE]: `${OURS}export const POST: Handler = (withRateLimit<NextRequest>(ask, options) satisfies Handler)!\n`,
  },
  'whose wrapper has JSX': {
    'app/api/ai/a/route.tsx': `${OURS}export const GET = withRateLimit(() => render(<b>a</b>), options)\n`,
  },
  'that exports on what another file wraps': {
    'lib/ask.ts': WRAPPED,
    [ROUTE]: `export { POST } from '../../../../lib/ask'\n`,
    'app/api/ai/b/route.js': `import { POST as ask } from '@/lib/ask.js'\nexport const PUT = ask\n`,
  },
  'whose file of its own passes the wrapper on': {
    'lib/limit/index.ts': `export { withRateLimit } from '@sluice/next'\n`,
    [ROUTE]: `import { withRateLimit } from '@/lib/limit'\nexport const POST = withRateLimit(ask, options)\n`,
  },
  'that wraps a handler of pages/api': {
    'pages/api/ai/a.ts': `${OURS}export const config = { runtime: 'edge' }\nexport default withRateLimit(ask, options)\n`,
  },
  'with a page, and server functions nowhere': {
    [ROUTE]: WRAPPED,
    'app/api/ai/page.tsx': `// 'use server'\n${PAGE}`,
  },
}

/** Apps that are limited if the routes are `/api/ai/**`. */
export const LIMITED_BY_MIDDLEWARE: Readonly<Record<string, Files>> = {
  'with a middleware for everything': {},
  'with a matcher that is a string': { 'middleware.ts': matcher("'/api/ai/:path*'") },
  'with a matcher in a list': { 'middleware.ts': matcher("['/other', `/api/:path*`] as const") },
  'with a matcher in an object': { 'middleware.ts': matcher("[{ source: '/api/ai/:path*' }]") },
  'with a middleware of its own around the limiter': {
    'middleware.ts': `import { rateLimit } from '@sluice/next'\nconst limited = rateLimit(limiter, options)\nexport default async function (request, event) {\nreturn limited(request, event)\n}\n`,
  },
  'that returns it on a condition': running(
    `if (request.nextUrl.pathname.startsWith('/api/')) return limit(request, event); ${NEXT}`,
  ),
  'that returns it or something else': running(
    `return isPage(request) ? NextResponse.next() : limit(request, event)`,
  ),
  'that returns it from a variable that it changes': running(
    `const response = await limit(request, event); response.headers.set('x-a', '1'); return response`,
  ),
  'that returns it from try': running(
    `let response; try { response = await limit(request, event) } finally { done() } return response`,
  ),
  'that returns it if it denies': running(
    `const { status } = await limit(request, event); if (status === 429) return new Response(null, { status }); ${NEXT}`,
  ),
  'that chooses by it': running(
    `const denied = (await limit(request, event)).status === 429; return denied ? refuse() : NextResponse.next()`,
  ),
  'that returns it by functions of its own': running(
    `const ask = () => again(); async function again() { return limit(request, event) } return await ask()`,
  ),
  'that creates the limiter where it calls it': running(
    'return rateLimit(limiter, options)(request, event)',
  ),
  'whose limiter decides in another file': {
    'lib/denied.ts': `${LIMIT}export async function denied(request) { const response = await limit(request); return response.status === 429 ? response : undefined }\n`,
    'middleware.ts': `import { denied } from '@/lib/denied'\nexport default async (request) => (await denied(request)) ?? NextResponse.next()\n`,
  },
  'whose limiter is made in another file': {
    'lib/limited.ts': MIDDLEWARE,
    'middleware.ts': `import { middleware as limited } from './lib/limited'\nexport function middleware(request) {\nreturn limited(request)\n}\n`,
  },
  'with a proxy': {
    'middleware.ts': null,
    'proxy.ts': matcher(`'/api/ai/:path*'`).replace('const middleware', 'const proxy'),
  },
  'in src': {
    'middleware.ts': null,
    'src/middleware.ts': MIDDLEWARE,
    [ROUTE]: null,
    [`src/${ROUTE}`]: POST,
  },
  'with a handler in pages/api': { 'pages/api/ai/a.ts': 'export default function handler() {}\n' },
  'with server functions': { 'lib/actions.ts': ACTIONS, 'app/api/ai/page.tsx': PAGE },
}
export const LIMITED_ROUTE: Files = { [ROUTE]: POST }

const rewriting = (rewrites: string): Files => ({
  'middleware.ts': matcher(`'/api/ai/:path*'`),
  'next.config.ts': `export default {\nasync rewrites() {\nreturn ${rewrites}\n}\n}\n`,
})

/** Apps whose middleware limits each handler, and whose rewrites lead around it. */
export const OPEN_REWRITES: Readonly<Record<string, Files>> = {
  'by an alias': rewriting(`[{ source: '/ask', destination: '/api/ai/a' }]`),
  'by a prefix': rewriting(`[{ source: '/v1/:path*', destination: '/api/ai/:path*' }]`),
  'by any path': rewriting(
    `{ beforeFiles: [], fallback: [{ source: '/:any*', destination: '/api/:any*?x=1' }] }`,
  ),
  'on a condition': rewriting(
    `[{ source: '/ask', has: [{ type: 'host', value: 'b' }], destination: '/api/ai/a' }]`,
  ),
  'by a function with a name': {
    ...rewriting('[]'),
    'next.config.ts': `const rewrites = async () => [{ source: '/ask', destination: '/api/ai/a' }]\nexport default { rewrites }\n`,
  },
}

const configured = (name: string, text: string, others: Files = {}): Files => ({
  ...rewriting('[]'),
  'next.config.ts': null,
  [`next.config.${name}`]: `${text}\n`,
  ...others,
})
const REWRITES = `async () => [{ source: '/ask', destination: '/api/ai/a' }]`
const BASE = { 'base.js': `module.exports = { rewrites: ${REWRITES} }\n` }

/** Apps whose configuration is not one object that is written out, so that its rewrites are unknown. */
export const UNKNOWN_REWRITES: Readonly<Record<string, Files>> = {
  'set by name': configured('js', `const c = {}\nc.rewrites = ${REWRITES}\nmodule.exports = c`),
  'set by a text': configured(
    'js',
    `const c = {}\nc['rewrites'] = ${REWRITES}\nmodule.exports = c`,
  ),
  'set by Object.assign': configured(
    'mjs',
    `const c = {}\nObject.assign(c, { rewrites: ${REWRITES} })\nexport default c`,
  ),
  'set on module.exports': configured(
    'js',
    `module.exports = {}\nmodule.exports.rewrites = ${REWRITES}`,
  ),
  'set on exports': configured('js', `exports.rewrites = ${REWRITES}`),
  'of a second module.exports': configured(
    'js',
    `module.exports = {}\nmodule.exports = { rewrites: ${REWRITES} }`,
  ),
  'with a computed key': configured(
    'js',
    `const key = 'rewrites'\nmodule.exports = { [key]: ${REWRITES} }`,
  ),
  'of an object that is spread': configured(
    'js',
    `module.exports = { ...require('./base') }`,
    BASE,
  ),
  'of an object that is spread after them': configured(
    'js',
    `module.exports = { rewrites: async () => [], ...require('./base') }`,
    BASE,
  ),
  'of Object.assign': configured(
    'js',
    `module.exports = Object.assign({}, { rewrites: ${REWRITES} })`,
  ),
  'of another file': configured('js', `module.exports = require('./base')`, BASE),
  'of another file that is exported on': configured(
    'mjs',
    `export { default } from './base.js'`,
    BASE,
  ),
  'of another file that is imported': configured(
    'ts',
    `import base from './base.js'\nexport default base`,
    BASE,
  ),
  'of a wrapper in the file': configured(
    'js',
    `const wrap = (c) => ({ ...c, rewrites: ${REWRITES} })\nmodule.exports = wrap({})`,
  ),
  'of a wrapper from a file': configured('js', `module.exports = require('./wrap')({})`, {
    'wrap.js': `module.exports = (c) => ({ ...c, rewrites: ${REWRITES} })\n`,
  }),
  'of a function': configured('mjs', `export default () => ({ rewrites: ${REWRITES} })`),
  'of a class': configured(
    'js',
    `class Config { async rewrites() { return [{ source: '/ask', destination: '/api/ai/a' }] } }\nmodule.exports = new Config()`,
  ),
  'of an object that may be replaced': configured(
    'mjs',
    `let c = {}\nc = { rewrites: ${REWRITES} }\nexport default c`,
  ),
  'from a file': configured(
    'js',
    `const { rewrites } = require('./base')\nmodule.exports = { rewrites }`,
    BASE,
  ),
  'from a function that adds to a list': configured(
    'js',
    `module.exports = { rewrites: async () => [].concat(require('./list')) }`,
  ),
  'from a getter': configured('js', `module.exports = { get rewrites() { return ${REWRITES} } }`),
  'in the file that Next.js takes first': {
    ...configured('js', `exports.rewrites = ${REWRITES}`),
    'next.config.ts': 'export default {}\n',
  },
}

/** Apps whose rewrites lead to no handler around the middleware. */
export const LIMITED_REWRITES: Readonly<Record<string, Files>> = {
  'to another handler': rewriting(`[{ source: '/ask', destination: '/api/other' }]`),
  'to another origin': rewriting(
    `[{ source: '/ask', destination: 'https://app.example/api/ai/a' }]`,
  ),
  'from a path that is limited, too': rewriting(
    `[{ source: '/api/ai/ask/:path*', destination: '/api/ai/:path*' }]`,
  ),
  'to a handler that is wrapped': {
    ...rewriting(`[{ source: '/ask', destination: '/api/ai/a' }]`),
    [ROUTE]: WRAPPED,
  },
  'of which there are none': rewriting('[]'),
  'of a configuration without any': configured('mjs', 'export default {}'),
  'of a configuration in CommonJS': configured(
    'js',
    `/** @type {import('next').NextConfig} */\nconst nextConfig = { rewrites: async () => [] }\nmodule.exports = nextConfig`,
  ),
  'of a configuration with a type': configured(
    'ts',
    `import type { NextConfig } from 'next'\nconst config = { webpack: (config) => config, async rewrites() { return { beforeFiles: [], fallback: [] } } } satisfies NextConfig\nexport { config as default }`,
  ),
}
