/* Projects in which `sluice doctor` finds nothing. */
import {
  AUTH,
  limits,
  listPrices,
  MODEL_ROUTE,
  nextFiles,
  ownPrices,
  server,
  WORKER,
} from '../doctor/doctor-projects.ts'

/** Returns the day that is so many days ahead, as `2026-11-28`. */
export const daysAhead = (days: number): string =>
  new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10)

export const TODAY: string = daysAhead(0)

/** Projects in which nothing is wrong. */
export const CLEAN_PROJECTS: readonly (readonly [
  what: string,
  files: Readonly<Record<string, string>>,
])[] = [
  [
    'Next.js with a proxy and an example of variables',
    {
      ...nextFiles(),
      '.env.example': 'UPSTASH_REDIS_REST_URL=\nUPSTASH_REDIS_REST_TOKEN=\nJWT_SECRET=\n',
    },
  ],
  [
    'Next.js with a middleware in src, and ids',
    {
      'package.json': JSON.stringify({ dependencies: { next: '15.5.18' } }),
      'src/limits.ts': limits({ policy: "routes: ['chat']" }),
      'src/auth.ts': AUTH,
      'src/middleware.ts': `
import { rateLimit } from '@sluice/next'
import { subject } from '@/auth'
import { limiter } from '@/limits'
import { ROUTES } from './routes'

const limit = rateLimit(limiter, { routes: ROUTES, subject })
export function middleware(request, event) {
  return limit(request, event)
}
export const config = { matcher: '/api/:path*' }
`,
      'src/routes.ts': `export const ROUTES = [{ path: '/api/ai/chat', id: 'chat', cost: async () => 1 }] as const`,
      'src/app/api/ai/chat/route.ts': MODEL_ROUTE,
      'src/app/api/health/route.ts': `export const dynamic = 'force-static'\nexport const GET = () => Response.json({})`,
    },
  ],
  [
    'Next.js with a wrapped handler and a limited model',
    {
      ...nextFiles(),
      'app/api/summary/route.ts': `
import { withRateLimit } from '@sluice/next'
import Anthropic from '@anthropic-ai/sdk'
import { subject } from '@/auth'
import { limiter } from '@/limits'

export const POST = withRateLimit(async () => Response.json(new Anthropic()), { limiter, route: 'summary', subject })
`,
      'lib/model.ts': `
import { limitedModel } from '@sluice/ai'
import { openai } from '@ai-sdk/openai'
export const model = limitedModel(openai('gpt-5'))
`,
      'app/api/title/route.ts': `
import { generateText } from 'ai'
import { model } from '@/lib/model'
export const POST = async () => Response.json(await generateText({ model, prompt: 'A title' }))
`,
      'app/api/history/route.ts': `
import { convertToModelMessages, type UIMessage } from 'ai'
import type OpenAI from 'openai'
export const POST = async (request: Request) => Response.json(await convertToModelMessages(await request.json()))
`,
    },
  ],
  [
    'Next.js with the routes of a manifest, which are not read',
    { ...nextFiles({ routes: 'manifest.routes' }), 'app/api/title/route.ts': MODEL_ROUTE },
  ],
  [
    'Next.js with a wrapper of a package of its own, which is not read',
    {
      ...nextFiles(),
      'app/api/title/route.ts': `
import { withLimits } from '@acme/limits'
import OpenAI from 'openai'
export const POST = withLimits(async () => Response.json(await new OpenAI().responses.create({})))
`,
    },
  ],
  [
    'Next.js that caches beside the limiter',
    {
      ...nextFiles(),
      'app/api/models/route.ts': `
import { unstable_cache } from 'next/cache'
import { limiter } from '@/limits'
export const fetchCache = 'force-cache'
const models = unstable_cache(async () => ['gpt-5'])
export async function GET() {
  const decision = await limiter.check({ tenant: 'acme' })
  return Response.json(decision.allowed ? await models() : [])
}
async function names() {
  'use cache'
  return []
}
`,
    },
  ],
  [
    'Next.js with a middleware of its own, which is not understood',
    {
      ...nextFiles(),
      'proxy.ts': `
import { limiter } from './limits'
export const proxy = async () => { await limiter.check({ tenant: 'acme' }) }
`,
      'app/api/title/route.ts': MODEL_ROUTE,
    },
  ],
  [
    'Hono',
    server(
      'hono',
      `import { Hono } from 'hono'
const app = new Hono()
app.use('/api/ai/*', rateLimit(limiter, { subject }))
app.post('/api/ai/chat', async (context) => context.json(await new OpenAI().responses.create({ model: 'gpt-5', input: '' })))
export default app`,
    ),
  ],
  [
    'Express',
    server(
      'express',
      `import express from 'express'
const app = express()
app.post('/api/ai/chat', rateLimit(limiter, { subject }), (_, response) => void response.json(new OpenAI()))
app.listen(3000)`,
    ),
  ],
  ['a Worker', WORKER],
  [
    'retries that are not those of the store',
    {
      'limits.ts': limits({
        store: 'upstash({ timeoutMs: 5_000, fetch: (url, init) => fetch(url, init) })',
      }),
      'weather.ts': `import pRetry from 'p-retry'\nexport const weather = () => pRetry(() => fetch('https://weather.test'))`,
    },
  ],
  ['a list of prices that is new', listPrices({ a: TODAY })],
  [
    'an old price of a model that nothing calls',
    listPrices({ a: TODAY, b: '2020-01-01' }, { called: 'a' }),
  ],
  [
    'an old list of prices that was compared with its sources for the installed version',
    listPrices({ a: '2020-01-01' }, { checked: TODAY }),
  ],
  [
    'an old list of prices, and a price of the model in use that somebody has looked up since',
    { ...listPrices({ m0: '2020-01-01' }, { called: 'm0' }), 'prices.ts': ownPrices(TODAY) },
  ],
  ['a model that ends in half a year', listPrices({ a: TODAY }, { ends: daysAhead(180) })],
  [
    'plans whose limits are read in several ways',
    {
      'limits.ts': limits({
        policies: `
    slidingWindow({ name: 'rpm', limit: ({ plan }) => plan.rpm, window: '1m', per: ['tenant'] }),
    slidingWindow({ name: 'model', limit: ({ plan, model }) => (model === 'gpt-5' ? plan.large : plan.small), window: '1m', per: ['tenant'] }),`,
        options: 'plans: definePlans({ starter: { rpm: 20, large: 5, small: 50, seats: 3 } }),',
      }),
      'seats.ts': `export const seatsOf = (plan: { seats: number }) => plan.seats`,
    },
  ],
]
