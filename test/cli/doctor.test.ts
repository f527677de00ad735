import { mkdirSync, symlinkSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, describe, expect, it } from 'vitest'
import { createLimiter, slidingWindow } from '@sluice/core'
import { configure, runtimeConfiguration } from '@sluice/core/configuration'
import { upstash } from '@sluice/core/upstash'
import { ownRedisOverHttp, sharedRedisOverHttp } from '../support/running-redis.ts'
import { freshPrefix } from '../support/stores.ts'
import { appOf, CLEAN_ENV, CLEAN_PROJECTS, limits, nextApp } from './doctor-projects.ts'
import { envOf, project, removeProjects, type Project } from './project.ts'

afterAll(removeProjects)

const redis = sharedRedisOverHttp()
const evicting = ownRedisOverHttp()

const CORE = fileURLToPath(new URL('../../packages/core', import.meta.url))

interface Fixture {
  /** The finding that it shows. */
  readonly code: string
  readonly says: string
  readonly create: () => Project | Promise<Project>
}

const withStore = (text: string, local = redis.local): Project =>
  project({ 'limits.ts': text, '.env': envOf(local) })

const closing: Server[] = []
afterAll(() => {
  for (const server of closing) server.close()
})

/** Starts a server that answers requests for the REST API. */
async function serve(
  answer: (body: string) => Promise<{ status: number; text: string }>,
): Promise<string> {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      void answer(Buffer.concat(chunks).toString()).then(({ status, text }) => {
        response.writeHead(status, { 'content-type': 'application/json' }).end(text)
      })
    })
  })
  closing.push(server)
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve)
  })
  return `http://127.0.0.1:${(server.address() as { port: number }).port}`
}

/** A REST API that answers late. */
const late = (): Promise<string> =>
  serve(async (body) => {
    const { url, token } = redis.local
    const headers = { authorization: `Bearer ${token}` }
    const response = await fetch(url, { method: 'POST', headers, body })
    const text = await response.text()
    await new Promise((resolve) => {
      setTimeout(resolve, 250)
    })
    return { status: response.status, text }
  })

/** A project with packages of its own: the core, and others as they are given. */
function withPackages(others: Readonly<Record<string, object>>): Project {
  const app = withStore(limits())
  const scope = join(app.folder, 'node_modules', '@sluice')
  mkdirSync(scope, { recursive: true })
  symlinkSync(CORE, join(scope, 'core'))
  for (const [name, manifest] of Object.entries(others)) {
    app.write(`node_modules/@sluice/${name}/package.json`, JSON.stringify(manifest))
  }
  return app
}

const FIXTURES: readonly Fixture[] = [
  {
    code: 'missing_credentials',
    says: 'UPSTASH_REDIS_REST_URL',
    create: () => project({ 'limits.ts': limits() }),
  },
  {
    code: 'store_unreachable',
    says: 'does not answer',
    create: () =>
      project({ 'limits.ts': limits(), '.env': envOf({ url: 'http://127.0.0.1:1', token: 't' }) }),
  },
  {
    code: 'store_unauthorized',
    says: 'refuses the token',
    create: () =>
      project({ 'limits.ts': limits(), '.env': envOf({ url: redis.local.url, token: 'other' }) }),
  },
  {
    code: 'store_failed',
    says: 'does not decide (store_refused)',
    create: async () => {
      const url = await serve(async () => ({
        status: 400,
        text: JSON.stringify({
          error: "NOPERM this user has no permissions to run the 'eval' command",
        }),
      }))
      return project({ 'limits.ts': limits(), '.env': envOf({ url, token: 't' }) })
    },
  },
  {
    code: 'store_slow',
    says: 'a decision takes 2',
    create: async () => {
      const url = await late()
      return project({ 'limits.ts': limits(), '.env': envOf({ url, token: 't' }) })
    },
  },
  {
    code: 'store_in_memory',
    says: 'each instance of your app counts by itself',
    create: () => project({ 'limits.ts': limits({ store: 'memory()' }) }),
  },
  {
    code: 'clock_off',
    says: 'behind this machine',
    create: () => withStore(limits({ options: 'clock: () => Date.now() - 60_000,' })),
  },
  {
    code: 'eviction_on',
    says: 'maxmemory-policy allkeys-lru',
    create: async () => {
      await evicting.redis.config('SET', 'maxmemory-policy', 'allkeys-lru')
      return withStore(limits(), evicting.local)
    },
  },
  {
    code: 'only_shadows',
    says: 'nothing is ever denied',
    create: () => withStore(limits({ policy: "mode: 'shadow'" })),
  },
  {
    code: 'unknown_policy',
    says: 'stored settings name policies that the limiter does not have: old-name',
    create: async () => {
      const prefix = freshPrefix()
      // The app before a policy was renamed.
      const before = createLimiter({
        store: upstash({ url: redis.local.url, token: redis.local.token, prefix }),
        policies: [slidingWindow({ name: 'old-name', limit: 60, window: '1m', per: ['tenant'] })],
        extensions: [runtimeConfiguration({ allow: { 'old-name': ['limit'] } })],
      })
      await configure(before, { 'old-name': { limit: 5 } }, { tenant: 'acme' })
      const options = "extensions: [runtimeConfiguration({ allow: { rpm: ['limit'] } })],"
      const store = `upstash({ prefix: '${prefix}', timeoutMs: 5_000 })`
      return withStore(limits({ options, store }))
    },
  },
  {
    code: 'unknown_policy',
    says: 'plans have limits that no policy reads: daily',
    create: () =>
      withStore(
        limits({
          options: 'plans: definePlans({ starter: { rpm: 20, daily: 500 } }),',
          policies: `
    slidingWindow({ name: 'rpm', limit: ({ plan }) => plan.rpm, window: '1m', per: ['tenant'] }),
    slidingWindow({ name: 'daily', limit: 500, window: '1d', per: ['tenant'] }),`,
        }),
      ),
  },
  {
    code: 'unknown_policy',
    says: 'policy rpm is for routes that no adapter has: uplaod',
    create: () =>
      nextApp(redis.local, {
        routes: "[{ path: '/api/ai/**', id: 'upload' }]",
        limits: limits({ policy: "routes: ['uplaod']" }),
      }),
  },
  {
    code: 'versions_differ',
    says: 'ai 0.0.9, core 0.1.0',
    create: () => withPackages({ ai: { version: '0.0.9' } }),
  },
  {
    code: 'two_copies',
    says: 'again in @sluice/ai',
    create: () => {
      const app = withPackages({ ai: { version: '0.1.0' } })
      app.write('node_modules/@sluice/ai/node_modules/@sluice/core/package.json', '{}')
      return app
    },
  },
]

describe('sluice doctor', () => {
  it.each(FIXTURES)('finds $code, and nothing else: $says', async ({ code, says, create }) => {
    const app = await create()
    const { out, exitCode } = await app.sluice(['doctor', '--json'])
    const { findings } = JSON.parse(out) as {
      findings: { code: string; text: string; remedy: string }[]
    }
    expect(findings.map((finding) => finding.code)).toEqual([code])
    expect(findings[0]?.text).toContain(says)
    expect(exitCode).toBe(1)
    const text = await app.sluice(['doctor'])
    expect(text.out.split('\n')).toHaveLength(2)
    expect(text.out).toContain(`${code}: `)
    expect(text.out).toContain(findings[0]?.remedy.slice(0, 30))
  })

  const CLEAN: readonly (readonly [what: string, text: string])[] = [
    ['one policy', limits()],
    ['a policy of some routes', limits({ policy: "routes: ['chat']" })],
    [
      'one policy in shadow beside another',
      limits().replace(
        'policies: [',
        `policies: [
      slidingWindow({ name: 'next', limit: 6, window: '1m', per: 'global', mode: 'shadow' }),`,
      ),
    ],
  ]
  const projects = [
    ...CLEAN.map(([what, text]) => [what, { 'limits.ts': text }] as const),
    ...CLEAN_PROJECTS,
  ]
  it.each(projects)('finds nothing in a clean project: %s', async (_, files) => {
    const { out, err, exitCode } = await appOf(redis.local, files, CLEAN_ENV).sluice(['doctor'])
    const file = Object.keys(files).find((path) => path.endsWith('limits.ts'))
    expect({ out, err, exitCode }).toEqual({
      out: `Nothing is wrong with ${file} and its store.`,
      err: '',
      exitCode: 0,
    })
  })
})
