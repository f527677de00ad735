import { join } from 'node:path'
import { createLimiter, slidingWindow } from '@sluice/core'
import { configure, runtimeConfiguration } from '@sluice/core/configuration'
import { upstash } from '@sluice/core/upstash'
import { afterAll, describe, expect, it } from 'vitest'
import { sharedRedisOverHttp } from '../../support/running-redis.ts'
import { freshPrefix } from '../../support/stores.ts'
import {
  appOf,
  limits,
  listPrices,
  MODEL_ROUTE,
  nextApp,
  nextFiles,
  ownPrices,
  SECRET,
  WORKER,
} from '../doctor/doctor-projects.ts'
import { CLEAN_PROJECTS, daysAhead, TODAY } from './clean-projects.ts'
import { examine, onlyFinding, type Fixture } from '../doctor/examine.ts'
import { offerPipe } from '../pipe.ts'
import { removeProjects } from '../project.ts'

afterAll(removeProjects)

const redis = sharedRedisOverHttp()

const FIXTURES: readonly Fixture[] = [
  {
    code: 'unknown_policy',
    says: 'stored settings name policies that the limiter does not have: old-name',
    create: async () => {
      const prefix = freshPrefix()
      // The app before a policy was renamed.
      const before = createLimiter({
        store: upstash({
          url: redis.local.url,
          token: redis.local.token,
          prefix,
          timeoutMs: 30_000,
        }),
        policies: [slidingWindow({ name: 'old-name', limit: 60, window: '1m', per: ['tenant'] })],
        extensions: [runtimeConfiguration({ allow: { 'old-name': ['limit'] } })],
      })
      await configure(before, { 'old-name': { limit: 5 } }, { tenant: 'acme' })
      const options = "extensions: [runtimeConfiguration({ allow: { rpm: ['limit'] } })],"
      const store = `upstash({ prefix: '${prefix}', timeoutMs: 5_000 })`
      return appOf(redis.local, { 'limits.ts': limits({ options, store }) })
    },
  },
  {
    code: 'unknown_policy',
    says: 'plans have limits that no policy reads: daily',
    create: () =>
      appOf(redis.local, {
        'limits.ts': limits({
          options: 'plans: definePlans({ starter: { rpm: 20, daily: 500 } }),',
          policies: `
    slidingWindow({ name: 'rpm', limit: ({ plan }) => plan.rpm, window: '1m', per: ['tenant'] }),
    slidingWindow({ name: 'daily', limit: 500, window: '1d', per: ['tenant'] }),`,
        }),
      }),
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
    code: 'route_unprotected',
    says: 'routes call a model, and no limiter protects them: /api/summary/[id] (app/(v1)/api/summary/[id]/route.ts)',
    create: () => nextApp(redis.local, {}, { 'app/(v1)/api/summary/[id]/route.ts': MODEL_ROUTE }),
  },
  {
    code: 'route_unprotected',
    says: '/api/title (src/routes/api/title/+server.ts)',
    create: () =>
      appOf(redis.local, {
        'package.json': JSON.stringify({ devDependencies: { '@sveltejs/kit': '3.2.0' } }),
        'limits.ts': limits(),
        'src/hooks.server.ts': `
import { rateLimit } from '@sluice/adapters/sveltekit'
import { limiter } from '../limits'
export const handle = rateLimit(limiter, { routes: ['/api/ai/**'], subject: () => ({ tenant: 'acme' }) })`,
        'src/lib/client.ts': `import Anthropic from '@anthropic-ai/sdk'\nexport const claude = new Anthropic()`,
        'src/routes/api/ai/chat/+server.ts': MODEL_ROUTE,
        'src/routes/api/title/+server.ts': `
import { claude } from '$lib/client'
export const POST = async () => Response.json(await claude.messages.create({}))`,
      }),
  },
  {
    code: 'route_unprotected',
    says: '/api/title (src/pages/api/title.ts)',
    create: () =>
      appOf(redis.local, {
        'package.json': JSON.stringify({ dependencies: { astro: '6.0.0' } }),
        'limits.ts': limits(),
        'src/middleware.ts': `
import { rateLimit } from '@sluice/adapters/astro'
import { limiter } from '../limits'
export const onRequest = rateLimit(limiter, { routes: ['/api/ai/**'], subject: () => ({ tenant: 'acme' }) })`,
        'src/pages/api/ai/chat.ts': MODEL_ROUTE,
        'src/pages/api/title.ts': MODEL_ROUTE,
      }),
  },
  {
    code: 'matcher_gap',
    says: 'config.matcher of proxy.ts leaves out paths that its routes name, so they are never limited: /api/title',
    create: () =>
      nextApp(
        redis.local,
        { routes: "['/api/**']" },
        { 'pages/api/title.ts': 'export default (_, response) => response.json({})' },
      ),
  },
  {
    code: 'secret_on_one_side',
    says: 'auth.ts reads JWT_SECRET, and nothing sets it: not the environment, and not .env, which has AUTH_SECRET',
    create: () => appOf(redis.local, nextFiles(), 'AUTH_SECRET=0123456789\n'),
  },
  {
    code: 'secret_on_one_side',
    says: '.env.example lacks JWT_SECRET, which auth.ts reads',
    create: () =>
      nextApp(
        redis.local,
        {},
        { '.env.example': 'UPSTASH_REDIS_REST_URL=\nUPSTASH_REDIS_REST_TOKEN=\n' },
      ),
  },
  {
    code: 'secret_on_one_side',
    says: '.env sets UPSTASH_REDIS_REST_URL, UPSTASH_REDIS_REST_TOKEN, JWT_SECRET, and .dev.vars does not',
    create: () => appOf(redis.local, { ...WORKER, '.dev.vars': 'STAGE=development\n' }, SECRET),
  },
  {
    code: 'prices_old',
    says: 'older than 60 days: m0 of 2020-01-01 (prices.ts)',
    create: () =>
      appOf(redis.local, {
        'limits.ts': limits(),
        'prices.ts': ownPrices('2020-01-01', TODAY),
      }),
  },
  {
    // One row that is new hides none of the others.
    code: 'prices_old',
    says: 'older than 60 days: a of 2020-01-01 (LIST_PRICES)',
    create: () => appOf(redis.local, listPrices({ a: '2020-01-01', b: TODAY })),
  },
  {
    code: 'prices_old',
    says: 'older than 60 days: a of 2020-02-01 (LIST_PRICES)',
    create: () =>
      appOf(redis.local, listPrices({ a: '2020-01-01', b: TODAY }, { checked: '2020-02-01' })),
  },
  {
    // Clients name the models: any may be in use.
    code: 'prices_old',
    says: 'older than 60 days: b of 2020-01-01 (LIST_PRICES)',
    create: () => appOf(redis.local, listPrices({ a: TODAY, b: '2020-01-01' }, { called: 'c' })),
  },
  {
    code: 'model_ends',
    says: `shut down models in use: a on ${daysAhead(100)}`,
    create: () => appOf(redis.local, listPrices({ a: TODAY }, { ends: daysAhead(100) })),
  },
  {
    code: 'model_ends',
    says: 'shut down models in use: old-model on 2020-01-01',
    create: () =>
      appOf(redis.local, {
        'limits.ts': limits(),
        'prices.ts': `
import { definePrices } from '@sluice/ai'
export const prices = definePrices({ 'old-model': { input: 1_000, output: 1_000, endsOn: '2020-01-01' } })`,
      }),
  },
  {
    code: 'fetch_cache',
    says: "app/api/models/route.ts keeps what the limiter has decided, by dynamic = 'force-static'",
    create: () =>
      nextApp(
        redis.local,
        {},
        {
          'app/api/models/route.ts': `
import { withRateLimit } from '@sluice/next'
import { subject } from '@/auth'
import { limiter } from '@/limits'
export const dynamic = 'force-static'
export const GET = withRateLimit(() => Response.json([]), { limiter, route: 'models', subject })`,
        },
      ),
  },
  {
    code: 'fetch_cache',
    says: "lib/answer.ts keeps what the limiter has decided, by 'use cache'",
    create: () =>
      nextApp(
        redis.local,
        {},
        {
          'lib/answer.ts': `
import { limiter } from '@/limits'
export async function answer(tenant: string) {
  'use cache'
  return (await limiter.check({ tenant })).allowed ? 42 : undefined
}`,
        },
      ),
  },
  {
    code: 'client_retries',
    says: 'limits.ts gives upstash() a fetch that sends calls again (fetch-retry)',
    create: () =>
      appOf(redis.local, {
        'limits.ts': `import { sendAgain } from './send-again'
${limits({ store: 'upstash({ timeoutMs: 5_000, fetch: sendAgain })' })}`,
        'send-again.ts': `import fetchRetry from 'fetch-retry'
export const sendAgain = fetchRetry(fetch)`,
        'node_modules/fetch-retry/package.json': JSON.stringify({ main: './index.js' }),
        'node_modules/fetch-retry/index.js': 'module.exports = (send) => send',
      }),
  },
]

describe('sluice doctor, of source files', () => {
  it.each(FIXTURES)('finds $code, and nothing else: $says', async (fixture) => {
    expect(await examine(fixture)).toEqual(onlyFinding(fixture))
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
    const { out, err, exitCode } = await appOf(redis.local, files, SECRET).sluice(['doctor'])
    const file = Object.keys(files).find((path) => path.endsWith('limits.ts'))
    expect({ out, err, exitCode }).toEqual({
      out: `Nothing is wrong with ${file} and its store.`,
      err: '',
      exitCode: 0,
    })
  })

  it('names the files that it could not read, and is content with the others', async () => {
    const files = { 'limits.ts': limits(), 'broken.ts': 'rateLimit( // @sluice/next' }
    const { out, exitCode } = await appOf(redis.local, files).sluice(['doctor'])
    expect(out).toBe('Nothing is wrong with limits.ts and its store.\nCould not be read: broken.ts')
    expect(exitCode).toBe(0)
  })

  it('names a pipe, and does not wait for its end', async () => {
    const app = appOf(redis.local, { 'limits.ts': limits() })
    offerPipe(join(app.folder, 'x.ts'))
    const { out } = await app.sluice(['doctor'])
    expect(out).toBe('Nothing is wrong with limits.ts and its store.\nCould not be read: x.ts')
  })
})
