import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { assertProtected, unprotectedRoutes } from '@sluice/next/testing'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { routes } from '../fixtures/next/limits.ts'

const fixture = fileURLToPath(new URL('../fixtures/next/app', import.meta.url))

let appDir: string
beforeEach(() => {
  appDir = mkdtempSync(join(tmpdir(), 'sluice-app-'))
})
afterEach(() => rmSync(appDir, { recursive: true, force: true }))

const POST = 'export async function POST() {}\n'

/** Writes an app's handlers; `unprotected` then names those below /api/ai that no route covers. */
function app(files: Readonly<Record<string, string>>): void {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(appDir, path)), { recursive: true })
    writeFileSync(join(appDir, path), text)
  }
}

const unprotected = (...covered: Parameters<typeof unprotectedRoutes>[0]['routes']) =>
  unprotectedRoutes({ appDir, under: '/api/ai', routes: covered })

describe('assertProtected', () => {
  it('holds for an app whose routes are all limited, in middleware or by a wrapper', () => {
    assertProtected({ appDir: fixture, under: '/api/ai', routes })
    assertProtected({ appDir: fixture, under: '/api/both', routes })
    assertProtected({ appDir: fixture, under: '/api/wrapped', routes })
    expect(unprotectedRoutes({ appDir: fixture, under: '/api/ai', routes })).toEqual([])
  })

  it('names each handler that no limiter covers', () => {
    expect(() => assertProtected({ appDir: fixture, under: '/', routes })).toThrow(
      'No limiter covers /api/report',
    )
  })

  it('fails where there is no handler to look at: a misspelt path proves nothing', () => {
    expect(() => assertProtected({ appDir: fixture, under: '/api/ia', routes })).toThrow(
      /serves a path below \/api\/ia/,
    )
  })
})

describe('unprotectedRoutes', () => {
  it('looks into groups and slots, which are no part of a path', () => {
    app({ '(site)/api/ai/a/route.ts': POST, '@slot/api/(x)/ai/b/route.js': POST })
    expect(unprotected('/api/ai/c')).toEqual(['/api/ai/a', '/api/ai/b'])
    expect(unprotected('/api/ai/a', '/api/ai/:any')).toEqual([])
  })

  it('leaves out private folders, and what is no route handler', () => {
    app({ 'api/ai/_lib/route.ts': POST, 'api/ai/page.tsx': POST, 'api/ai/route.test.ts': POST })
    expect(unprotected('/x')).toEqual([])
  })

  it('reads %5F as the underscore that it stands for', () => {
    app({ 'api/ai/%5Fin/route.ts': POST })
    expect(unprotected('/x')).toEqual(['/api/ai/_in'])
    expect(unprotected('/api/ai/_in')).toEqual([])
  })

  it('leaves out what is beside the path, and not what is the path itself', () => {
    app({ 'api/aid/route.ts': POST, 'api/ai/route.ts': POST })
    expect(unprotected('/x')).toEqual(['/api/ai'])
  })

  it('wants a dynamic segment covered for every value', () => {
    app({ 'api/ai/[model]/route.ts': POST })
    expect(unprotected('/api/ai/gpt')).toEqual(['/api/ai/[model]'])
    expect(unprotected('/api/ai/:model')).toEqual([])
  })

  it('wants a catch-all covered at every depth', () => {
    app({ 'api/ai/[...path]/route.ts': POST })
    expect(unprotected('/api/ai/:path')).toEqual(['/api/ai/[...path]'])
    expect(unprotected('/api/ai/**')).toEqual([])
  })

  it('wants an optional catch-all covered without a segment, too', () => {
    app({ 'api/ai/v1/[[...path]]/route.ts': POST })
    expect(unprotected('/api/ai/v1/:a', '/api/ai/v1/:a/**')).toEqual(['/api/ai/v1/[[...path]]'])
    expect(unprotected('/api/ai/v1/**')).toEqual([])
  })

  it('sees a dynamic segment and a catch-all above the path, which serve what is below it', () => {
    app({ 'api/[...path]/route.ts': POST, '[a]/[b]/chat/route.ts': POST })
    expect(unprotected('/x')).toEqual(['/[a]/[b]/chat', '/api/[...path]'])
    expect(unprotected('/api/ai/**')).toEqual([])
  })

  it('wants each method covered that a file exports', () => {
    app({ 'api/ai/a/route.ts': `${POST}export const GET = () => {}\n` })
    expect(unprotected({ path: '/api/ai/a', methods: ['POST'] })).toEqual(['/api/ai/a'])
    expect(unprotected({ path: '/api/ai/a', methods: ['POST', 'GET'] })).toEqual([])
  })

  it.each([
    "export * from './handlers'\nexport const GET = () => {}\n",
    'export {\n  GET,\n  POST,\n}\n',
    'export const {\n  GET,\n  POST,\n} = make()\n',
    'module.exports = { POST() {} }\n',
  ])('wants every method covered where %j does not say which there are', (text) => {
    app({ 'api/ai/a/route.ts': text })
    expect(unprotected({ path: '/api/ai/a', methods: ['GET'] })).toEqual(['/api/ai/a'])
    expect(unprotected('/api/ai/a')).toEqual([])
  })

  it('takes what withRateLimit is around for covered, method by method', () => {
    const wrapped = 'export const POST = withRateLimit(ask, { limiter })\nexport const GET = POST\n'
    app({ 'api/ai/a/route.ts': wrapped })
    expect(unprotected('/x')).toEqual([])
    app({ 'api/ai/a/route.ts': `${wrapped}export function PUT() {}\n` })
    expect(unprotected('/x')).toEqual(['/api/ai/a'])
  })

  it('is not taken in by a mention of withRateLimit', () => {
    app({ 'api/ai/a/route.ts': '// withRateLimit\nexport const POST = ask(withRateLimit)\n' })
    expect(unprotected('/x')).toEqual(['/api/ai/a'])
  })
})
