import { globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { startLocal, type LocalServer } from '@sluice/local'
import { afterAll, beforeAll, expect, inject, it } from 'vitest'
import { nextBuild, start, type RunningApp } from './support/build.ts'

const FILES = {
  'package.json': '{ "private": true, "type": "module" }',
  'next.config.ts': 'export default { cacheComponents: true, partialPrefetching: true }',
  'limits.ts': `
    import { createLimiter, slidingWindow } from '@sluice/core'
    import { upstash } from '@sluice/core/upstash'
    const policies = [slidingWindow({ name: 'rpm', limit: 60, window: '1m', per: ['tenant'] })]
    export const limiter = createLimiter({ store: upstash({ timeoutMs: 30_000 }), policies })
    export const apart = createLimiter({ store: upstash({ timeoutMs: 30_000, pipeline: false }), policies })`,
  'middleware.ts': `
    import { limiter } from './limits'
    export const config = { matcher: ['/edge'] }
    export async function middleware() {
      await Promise.all(['a', 'b', 'c'].map((tenant) => limiter.check({ tenant })))
      return Response.json({})
    }`,
  'app/layout.tsx':
    'export default ({ children }: { children: React.ReactNode }) => <html><body>{children}</body></html>',
  'app/page.tsx': `
    import { connection } from 'next/server'
    import { Suspense } from 'react'
    import { limiter } from '../limits'
    const Left = async () => {
      await connection()
      const { policies } = await limiter.check({ tenant: 'page' })
      return <p>left: {policies[0].remaining}</p>
    }
    export default () => <Suspense fallback="…"><Left /></Suspense>`,
  'app/api/together/route.ts': `
    import { apart, limiter } from '../../../limits'
    export async function POST(request: Request) {
      const by = (await request.text()) === 'apart' ? apart : limiter
      const decisions = await Promise.all(['a', 'b', 'c'].map((tenant) => by.check({ tenant })))
      return Response.json(decisions.map(({ allowed, degraded }) => allowed && !degraded))
    }`,
  'app/api/after/route.ts': `
    import { after } from 'next/server'
    import { limiter } from '../../../limits'
    export async function POST() {
      after(() => Promise.all([limiter.check({ tenant: 'a' }), limiter.check({ tenant: 'b' })]))
      return Response.json({})
    }`,
} as const

const folder = fileURLToPath(new URL('dist/whose request', import.meta.url))
let local: LocalServer
let app: RunningApp
let atBuild: number

beforeAll(async () => {
  local = await startLocal({ redisUrl: inject('redisUrl') })
  rmSync(folder, { recursive: true, force: true })
  const env = `UPSTASH_REDIS_REST_URL=${local.url}\nUPSTASH_REDIS_REST_TOKEN=${local.token}\n`
  for (const [path, code] of Object.entries({ ...FILES, '.env': env })) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), code)
  }
  await nextBuild(folder)
  atBuild = local.requests
  app = await start({ folder }, {})
})
afterAll(async () => {
  await app?.stop()
  await local?.close()
})

/** The requests that the store has had of a request to the app, once its script is known. */
async function requestsOf(path: string, init?: RequestInit): Promise<number> {
  await (await fetch(`${app.url}${path}`, init)).text()
  const before = local.requests
  const answer = await fetch(`${app.url}${path}`, init)
  expect(answer.status).toBe(200)
  await answer.text()
  return local.requests - before
}

/** Returns true if a built file of the server sends shared requests. */
const hasCode = (pattern: string): boolean =>
  globSync(pattern, { cwd: join(folder, '.next/server') }).some((path) =>
    readFileSync(join(folder, '.next/server', path), 'utf8').includes('/pipeline`'),
  )

it('checks at once in a route handler share a request, but with pipeline: false', async () => {
  expect(await requestsOf('/api/together', { method: 'POST' })).toBe(1)
  expect(await requestsOf('/api/together', { method: 'POST', body: 'apart' })).toBe(3)
})

it('checks in `after` share a request after the response', async () => {
  const before = local.requests
  await (await fetch(`${app.url}/api/after`, { method: 'POST' })).text()
  await expect.poll(() => local.requests - before).toBe(1)
})

it('a page that is rendered ahead asks nothing at the build, and once at each request', async () => {
  expect(atBuild).toBe(0)
  expect(await requestsOf('/')).toBe(1)
  const page = await (await fetch(app.url)).text()
  expect(page).toMatch(/left: (<!-- -->)?57/)
})

it('edge middleware has a request for each check, and no code to share them', async () => {
  expect(await requestsOf('/edge')).toBe(3)
  expect(hasCode('edge/**/*.js')).toBe(false)
  expect(hasCode('app/**/*.js') || hasCode('chunks/**/*.js')).toBe(true)
})
