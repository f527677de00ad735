import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { ConfigError } from '@sluice/core'
import { assertProtected, unprotectedRoutes } from '@sluice/cli/testing'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { routes } from '../../next/fixture/limits.ts'
import { offerPipe } from '../pipe.ts'
import {
  DROPPED_ANSWERS,
  LIMITED_BY_MIDDLEWARE,
  LIMITED_REWRITES,
  LIMITED_ROUTE,
  MIDDLEWARE,
  OPEN_HANDLERS,
  OPEN_MIDDLEWARE,
  OPEN_REWRITES,
  POST,
  UNKNOWN_REWRITES,
  WRAPPED,
  WRAPPED_HANDLERS,
  type Files,
} from './open-apps.ts'

const repository = fileURLToPath(new URL('../../..', import.meta.url))
const fixture = fileURLToPath(new URL('../../next/fixture', import.meta.url))

let root: string
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'sluice-app-'))
  project({ 'middleware.ts': MIDDLEWARE })
})
afterEach(() => rmSync(root, { recursive: true, force: true }))

/** Writes files of a project. */
function project(files: Files): void {
  for (const [path, text] of Object.entries(files)) {
    if (text === null) {
      rmSync(join(root, path), { force: true })
      continue
    }
    mkdirSync(dirname(join(root, path)), { recursive: true })
    writeFileSync(join(root, path), text)
  }
}

/** Writes an app's handlers; `unprotected` then names those below /api/ai that no route covers. */
function app(files: Readonly<Record<string, string>>): void {
  project(Object.fromEntries(Object.entries(files).map(([path, text]) => [`app/${path}`, text])))
}

const unprotected = (...covered: Parameters<typeof unprotectedRoutes>[0]['routes']) =>
  unprotectedRoutes({ root, under: '/api/ai', routes: covered })

describe('assertProtected', () => {
  it('passes an app whose routes are all limited, in middleware or by a wrapper', () => {
    assertProtected({ root: fixture, under: '/api/gateway', routes })
    assertProtected({ root: fixture, under: '/api/both', routes })
    assertProtected({ root: fixture, under: '/api/wrapped', routes })
    expect(unprotectedRoutes({ root: fixture, under: '/api/gateway', routes })).toEqual([])
  })

  it('names a handler that a rewrite of the app leads to around the middleware', () => {
    const ai = { root: fixture, under: '/api/ai', routes }
    expect(unprotectedRoutes(ai)).toEqual(['/api/ai/evaluate'])
    expect(() => assertProtected(ai)).toThrow(
      'No limiter covers /api/ai/evaluate (the rewrite of /alias leads around the middleware: wrap it in withRateLimit)',
    )
    assertProtected({ ...ai, rewrites: [] })
  })

  it('names each handler that no limiter covers', () => {
    const all = { root: fixture, under: '/', routes, rewrites: [] }
    expect(() => assertProtected(all)).toThrow('No limiter covers /api/report, /')
  })

  it('fails without a handler to check: a misspelt path proves nothing', () => {
    expect(() => assertProtected({ root: fixture, under: '/api/ia', routes })).toThrow(
      /serves a path below \/api\/ia/,
    )
  })
})

describe('assertProtected does not pass an app', () => {
  it.each(Object.entries(OPEN_HANDLERS))('%s', (_, files) => {
    project(files)
    expect(() => assertProtected({ root, under: '/api/ai', routes: ['/limited/**'] })).toThrow(
      /^No limiter covers \/api\/ai(\/a)?$/,
    )
  })

  it.each(Object.entries(OPEN_MIDDLEWARE))('%s', (_, files) => {
    project({ ...LIMITED_ROUTE, ...files })
    expect(() => assertProtected({ root, under: '/api/ai', routes: ['/api/ai/**'] })).toThrow(
      /^No limiter covers \/api\/ai\/\S+ \(.*(middleware|proxy|src)/,
    )
  })

  it.each(Object.entries(DROPPED_ANSWERS))(
    "whose middleware drops the limiter's answer: %s",
    (_, files) => {
      project({ ...LIMITED_ROUTE, ...files })
      expect(() => assertProtected({ root, under: '/api/ai', routes: ['/api/ai/**'] })).toThrow(
        /^No limiter covers \/api\/ai\/a \(.*middleware\.ts does not return the answer of rateLimit\)$/,
      )
    },
  )

  it.each(Object.entries(UNKNOWN_REWRITES))('whose rewrites are unknown: %s', (_, files) => {
    project({ ...LIMITED_ROUTE, ...files })
    const all = { root, under: '/api/ai', routes: ['/api/ai/**'], pageExtensions: ['ts'] }
    expect(() => assertProtected(all)).toThrow(/rewrites must be literal/)
    assertProtected({ ...all, rewrites: [] })
  })

  it.each(Object.entries(OPEN_REWRITES))(
    'whose rewrites lead around the limiter: %s',
    (_, files) => {
      project({ ...LIMITED_ROUTE, ...files })
      expect(() => assertProtected({ root, under: '/api/ai', routes: ['/api/ai/**'] })).toThrow(
        /^No limiter covers \/api\/ai\/a \(the rewrite of .*: wrap it in withRateLimit\)$/,
      )
    },
  )

  it.each([
    ['next.config.ts', 'export default { rewrites: makeRewrites }\n', 'rewrites'],
    ['next.config.ts', 'export default { rewrites: async () => [...others] }\n', 'rewrites'],
    [
      'next.config.ts',
      "export default { rewrites: async () => [{ source: PATH, destination: '/a' }] }\n",
      'rewrites',
    ],
    ['middleware.ts', `${MIDDLEWARE}export const config = { matcher: PATHS }\n`, 'config.matcher'],
    ['middleware.ts', `${MIDDLEWARE}export const config = { ...rest }\n`, 'config.matcher'],
    [
      'middleware.ts',
      `${MIDDLEWARE}export const config = { matcher: ['api'] }\n`,
      'config.matcher',
    ],
    ['middleware.ts', `${MIDDLEWARE}export { config } from './config'\n`, 'config.matcher'],
    ['next.config.ts', 'export default { pageExtensions }\n', 'pageExtensions'],
    ['app/api/ai/a/route.ts', 'export const POST = (\n', 'cannot be parsed'],
  ])('whose %s cannot be read: %j', (path, text, named) => {
    project({ ...LIMITED_ROUTE, [path]: text })
    expect(() => assertProtected({ root, under: '/api/ai', routes: ['/api/ai/**'] })).toThrow(named)
  })
})

describe('assertProtected passes an app', () => {
  it.each(Object.entries(WRAPPED_HANDLERS))('%s', (_, files) => {
    project(files)
    const all = { root, under: '/api/ai', routes: ['/limited/**'] }
    expect(() => assertProtected(all)).not.toThrow()
  })

  it.each(Object.entries(LIMITED_BY_MIDDLEWARE))('%s', (_, files) => {
    project({ ...LIMITED_ROUTE, ...files })
    const all = { root, under: '/api/ai', routes: ['/api/ai/**'] }
    expect(() => assertProtected(all)).not.toThrow()
  })

  it.each(Object.entries(LIMITED_REWRITES))('with rewrites %s', (_, files) => {
    project({ ...LIMITED_ROUTE, ...files })
    const all = { root, under: '/api/ai', routes: ['/api/ai/**'] }
    expect(() => assertProtected(all)).not.toThrow()
  })

  // `sluice init` writes those of docs/start.
  const pages = readdirSync(join(repository, 'docs'), { recursive: true, encoding: 'utf8' })
  const shown = pages.flatMap((page) => {
    if (!page.endsWith('.md')) return []
    const blocks = readFileSync(join(repository, 'docs', page), 'utf8').split('```')
    return blocks
      .filter((block) => /^ts\n[^]*export const (?:proxy|middleware) = rateLimit\(/.test(block))
      .map((block, at) => ({ page, at, text: block.slice(3) }))
  })
  it('shows several in the docs', () => expect(shown.length).toBeGreaterThanOrEqual(3))

  it.each(shown)('as $page shows it (block $at)', ({ text }) => {
    const name = /export const (\w+) = rateLimit/.exec(text)?.[1] ?? ''
    const imported = text.includes('@sluice/next')
      ? ''
      : `import { rateLimit } from '@sluice/next'\n`
    project({ ...LIMITED_ROUTE, 'middleware.ts': null, [`${name}.ts`]: imported + text })
    const all = { root, under: '/api/ai', routes: ['/api/ai/**'] }
    expect(() => assertProtected(all)).not.toThrow()
  })

  it.each(['apps/demo', 'examples/nextjs'])('%s', (folder) => {
    const all = { root: join(repository, folder), under: '/api/ai', routes: ['/api/ai/**'] }
    expect(() => assertProtected(all)).not.toThrow()
  })

  it('whose rewrites are given as an option because they are not literal', () => {
    project({ 'next.config.ts': 'export default { rewrites: makeRewrites }\n', ...LIMITED_ROUTE })
    project({
      'middleware.ts': `${MIDDLEWARE}export const config = { matcher: '/api/ai/:path*' }\n`,
    })
    const all = { root, under: '/api/ai', routes: ['/api/ai/**'] }
    assertProtected({ ...all, rewrites: [{ source: '/a', destination: '/b' }] })
    const open = [{ source: '/a', destination: '/api/ai/a' }]
    expect(unprotectedRoutes({ ...all, rewrites: open })).toEqual(['/api/ai/a'])
  })

  it('whose pageExtensions are given as an option because they are not literal', () => {
    project({ 'next.config.ts': 'export default { pageExtensions }\n', ...LIMITED_ROUTE })
    const options = { root, under: '/api/ai', routes: ['/api/ai/**'] }
    assertProtected({ ...options, pageExtensions: ['ts'] })
    project({ 'app/api/ai/b/route.api.js': POST })
    const pageExtensions = ['ts', 'api.js']
    expect(unprotectedRoutes({ ...options, routes: ['/x'], pageExtensions })).toEqual([
      '/api/ai/a',
      '/api/ai/b',
    ])
  })
})

describe('unprotectedRoutes', () => {
  it('looks into groups and slots, which are not part of a path', () => {
    app({ '(site)/api/ai/a/route.ts': POST, '@slot/api/(x)/ai/b/route.js': POST })
    expect(unprotected('/api/ai/c')).toEqual(['/api/ai/a', '/api/ai/b'])
    expect(unprotected('/api/ai/a', '/api/ai/:any')).toEqual([])
  })

  it('follows links to files and folders, as Next.js does', () => {
    project({ 'shared/a/route.ts': POST, 'shared/b.ts': POST })
    app({ 'api/ai/c/route.ts': WRAPPED, 'api/ai/d/page.tsx': '' })
    symlinkSync(join(root, 'shared/a'), join(root, 'app/api/ai/a'))
    symlinkSync(join(root, 'shared/b.ts'), join(root, 'app/api/ai/d/route.ts'))
    symlinkSync(join(root, 'nowhere'), join(root, 'app/api/ai/e'))
    expect(unprotected('/x')).toEqual(['/api/ai/a', '/api/ai/d'])
  })

  it('reads no pipes', () => {
    app({ 'api/ai/page.tsx': '', 'api/ai/b/route.ts': POST })
    for (const path of ['app/api/ai/route.ts', 'lib.ts']) offerPipe(join(root, path))
    expect(unprotected('/x')).toEqual(['/api/ai/b'])
  })

  it('sees pages/api.ts, which serves /api itself', () => {
    project({ 'pages/api.ts': 'export default function handler() {}\n' })
    expect(unprotectedRoutes({ root, under: '/api', routes: ['/x'] })).toEqual(['/api'])
  })

  it('leaves out private folders, and files that are not route handlers', () => {
    app({ 'api/ai/_lib/route.ts': POST, 'api/ai/page.tsx': POST, 'api/ai/route.test.ts': POST })
    expect(unprotected('/x')).toEqual([])
  })

  it('reads %5F as the underscore that it stands for', () => {
    app({ 'api/ai/%5Fin/route.ts': POST })
    expect(unprotected('/x')).toEqual(['/api/ai/_in'])
    expect(unprotected('/api/ai/_in')).toEqual([])
  })

  it('leaves out paths beside the given one, but not the path itself', () => {
    app({ 'api/aid/route.ts': POST, 'api/ai/route.ts': POST })
    expect(unprotected('/x')).toEqual(['/api/ai'])
  })

  it('requires a dynamic segment to be covered for every value', () => {
    app({ 'api/ai/[model]/route.ts': POST })
    expect(unprotected('/api/ai/gpt')).toEqual(['/api/ai/[model]'])
    expect(unprotected('/api/ai/:model')).toEqual([])
  })

  it('requires a catch-all to be covered at every depth', () => {
    app({ 'api/ai/[...path]/route.ts': POST })
    expect(unprotected('/api/ai/:path')).toEqual(['/api/ai/[...path]'])
    expect(unprotected('/api/ai/**')).toEqual([])
  })

  it.each(['/api/ai/(.*)', '/api/ai/:path*', '/api/ai/:path+', '/api/ai/:path(.*)'])(
    'takes a catch-all for covered by %s, as the matcher of Next.js writes it',
    (path) => {
      app({ 'api/ai/[...path]/route.ts': POST })
      expect(unprotected(path)).toEqual([])
    },
  )

  it('refuses the name of a folder as a route', () => {
    app({ 'api/ai/[model]/route.ts': POST })
    expect(() => unprotected('/api/ai/[model]')).toThrow(ConfigError)
  })

  it('requires an optional catch-all to be covered without a segment, too', () => {
    app({ 'api/ai/v1/[[...path]]/route.ts': POST })
    expect(unprotected('/api/ai/v1/:a', '/api/ai/v1/:a/**')).toEqual(['/api/ai/v1/[[...path]]'])
    expect(unprotected('/api/ai/v1/**')).toEqual([])
  })

  it('finds a dynamic segment and a catch-all above the path, which serve paths below it', () => {
    app({ 'api/[...path]/route.ts': POST, '[a]/[b]/chat/route.ts': POST })
    expect(unprotected('/x')).toEqual(['/[a]/[b]/chat', '/api/[...path]'])
    expect(unprotected('/api/ai/**')).toEqual([])
  })

  it('requires each method that a file exports to be covered', () => {
    app({ 'api/ai/a/route.ts': `${POST}export const GET = () => {}\n` })
    expect(unprotected({ path: '/api/ai/a', methods: ['POST'] })).toEqual(['/api/ai/a'])
    expect(unprotected({ path: '/api/ai/a', methods: ['POST', 'GET'] })).toEqual([])
  })

  it.each([
    "export * from './handlers'\nexport const GET = () => {}\n",
    'export {\n  GET,\n  POST,\n}\n',
    'export const {\n  GET,\n  POST,\n} = make()\n',
    'module.exports = { POST() {} }\n',
  ])('requires every method to be covered if %j does not name them', (text) => {
    app({ 'api/ai/a/route.ts': text })
    expect(unprotected({ path: '/api/ai/a', methods: ['GET'] })).toEqual(['/api/ai/a'])
    expect(unprotected('/api/ai/a')).toEqual([])
  })

  it('accepts handlers inside withRateLimit as covered, method by method', () => {
    const wrapped = `${WRAPPED}export const GET = POST\n`
    app({ 'api/ai/a/route.ts': wrapped })
    expect(unprotected('/x')).toEqual([])
    app({ 'api/ai/a/route.ts': `${wrapped}export function PUT() {}\n` })
    expect(unprotected('/x')).toEqual(['/api/ai/a'])
  })
})
