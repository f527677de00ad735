import { flushUsage } from '@sluice/usage'
import { mkdirSync, symlinkSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, describe, expect, it, onTestFinished } from 'vitest'
import { freshPrefix } from '../../support/stores.ts'
import { ownRedisOverHttp, sharedRedisOverHttp } from '../../support/running-redis.ts'
import { limits } from './doctor-projects.ts'
import { instanceOf } from '../limits.ts'
import { ACME, FREE } from '../operator.ts'
import { examine, onlyFinding, type Fixture } from './examine.ts'
import { envOf, project, removeProjects, type Project } from '../project.ts'

afterAll(removeProjects)

const redis = sharedRedisOverHttp()
const evicting = ownRedisOverHttp()

const CORE = fileURLToPath(new URL('../../../packages/core', import.meta.url))

const withStore = (text: string, local = redis.local): Project =>
  project({ 'limits.ts': text, '.env': envOf(local) })

type Command = readonly [name: string, ...args: string[]]

/** A project over a Redis that refuses to write, for one test. */
const refusing = (says: string, [name, ...args]: Command, [undo, ...rest]: Command): Fixture => ({
  code: 'store_read_only',
  says: `refuses to write (${says})`,
  create: async () => {
    await evicting.redis.config('SET', 'maxmemory-policy', 'noeviction')
    await evicting.redis.call(name, ...args)
    onTestFinished(async () => void (await evicting.redis.call(undo, ...rest)))
    return withStore(limits(), evicting.local)
  },
})

/** A project with credits over a Redis that deletes keys. */
const evictingCredits = (policy: string, says: string): Fixture => ({
  code: 'credits_evicted',
  says: `(maxmemory-policy ${policy}): a deleted key is a full budget. ${says}`,
  create: async () => {
    await evicting.redis.config('SET', 'maxmemory-policy', policy)
    const policies = `credits({ name: 'credits', per: ['tenant'], unsettled: 'keep' })`
    const more = `import { credits } from '@sluice/core/credits'`
    return withStore(limits({ policies, options: `onStoreError: 'deny',`, more }), evicting.local)
  },
})

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
      // The doctor may have given up, and the test be over.
      void answer(Buffer.concat(chunks).toString())
        .then(({ status, text }) => {
          response.writeHead(status, { 'content-type': 'application/json' }).end(text)
        })
        .catch(() => response.destroy())
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
    code: 'invalid_credentials',
    says: 'url of the store must be an http(s) URL',
    create: () => withStore(limits(), { ...redis.local, url: 'redis://127.0.0.1:6379' }),
  },
  {
    code: 'invalid_credentials',
    says: 'token of the store ',
    create: () => withStore(limits(), { ...redis.local, token: 'two words' }),
  },
  {
    code: 'store_unreachable',
    says: 'does not answer',
    create: () =>
      project({ 'limits.ts': limits(), '.env': envOf({ url: 'http://127.0.0.1:1', token: 't' }) }),
  },
  {
    code: 'store_unauthorized',
    says: 'refuses the credentials',
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
  evictingCredits(
    'allkeys-lru',
    'Of credits, balances are among them, the one count without an end',
  ),
  evictingCredits('volatile-ttl', 'Of credits, the ids of grants are among them'),
  refusing('OOM', ['CONFIG', 'SET', 'maxmemory', '1'], ['CONFIG', 'SET', 'maxmemory', '0']),
  refusing('READONLY', ['REPLICAOF', '127.0.0.1', '1'], ['REPLICAOF', 'NO', 'ONE']),
  {
    code: 'only_shadows',
    says: 'nothing is ever denied',
    create: () => withStore(limits({ policy: "mode: 'shadow'" })),
  },
  {
    code: 'fetch_cache',
    says: '5 decisions in a row have the same time',
    create: () =>
      withStore(
        limits({
          store: 'upstash({ timeoutMs: 5_000, fetch: cachingFetch })',
          more: `
let answer: Response | undefined
async function cachingFetch(url: string, init: RequestInit): Promise<Response> {
  if (answer) return answer.clone()
  const response = await fetch(url, init)
  if (response.ok) answer = response.clone()
  return response
}`,
        }),
      ),
  },
  {
    code: 'counts_anew',
    says: 'rpm counted 1m per tenant in the last hour, and counts 5m per tenant now',
    create: async () => {
      const prefix = freshPrefix()
      const { url, token } = redis.local
      const running = instanceOf({ url, token }, prefix)
      await running.check(ACME, FREE)
      await flushUsage(running)
      return withStore(`
import { createLimiter, slidingWindow } from '@sluice/core'
import { upstash } from '@sluice/core/upstash'
import { recordUsage } from '@sluice/usage'
export const limiter = createLimiter({
  store: upstash({ prefix: '${prefix}', timeoutMs: 30_000 }),
  policies: [slidingWindow({ name: 'rpm', limit: 60, window: '5m', per: ['tenant'] })],
  extensions: [recordUsage({ tenants: 'plain' })],
})`)
    },
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
  it.each(FIXTURES)('finds $code, and nothing else', async (fixture) => {
    expect(await examine(fixture)).toEqual(onlyFinding(fixture))
  })
})
