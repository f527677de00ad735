/* Projects whose source files `sluice doctor` reads. */
import type { LocalServer } from '@sluice/local'
import { envOf, project, type Project } from './project.ts'

/** A project, with the variables of a database. */
export const appOf = (
  { url, token }: Pick<LocalServer, 'url' | 'token'>,
  files: Readonly<Record<string, string>>,
  env = '',
): Project => project({ '.env': envOf({ url, token }) + env, ...files })

/** A file of limits. */
export const limits = (
  change: {
    policy?: string
    policies?: string
    options?: string
    store?: string
    more?: string
  } = {},
): string => `
import { createLimiter, definePlans, slidingWindow } from '@sluice/core'
import { runtimeConfiguration } from '@sluice/core/configuration'
import { memory } from '@sluice/core/memory'
import { upstash } from '@sluice/core/upstash'

export const limiter = createLimiter({
  store: ${change.store ?? 'upstash({ timeoutMs: 5_000 })'},
  policies: [${
    change.policies ??
    `slidingWindow({ name: 'rpm', limit: 60, window: '1m', per: ['tenant'], ${change.policy ?? ''} })`
  }],
  ${change.options ?? ''}
})
void definePlans
void memory
void runtimeConfiguration
${change.more ?? ''}
`

const AUTH = `
import { jwtSubject } from '@sluice/core/jwt'

export const subject = jwtSubject({
  secret: () => process.env.JWT_SECRET,
  algorithms: ['HS256'],
  claims: { tenant: 'tenant' },
})
`

/** A route handler that calls a model. */
export const MODEL_ROUTE = `
import { openai } from '@ai-sdk/openai'
import { streamText } from 'ai'

export async function POST(request: Request) {
  const { messages } = await request.json()
  return streamText({ model: openai('gpt-5'), messages }).toUIMessageStreamResponse()
}
`

const SECRET = 'JWT_SECRET=0123456789abcdef0123456789abcdef\n'

/** The files of a Next.js app whose proxy limits routes. */
export const nextFiles = (
  change: { routes?: string; matcher?: string; limits?: string } = {},
): Record<string, string> => ({
  'package.json': JSON.stringify({ dependencies: { next: '16.4.5', '@sluice/next': '*' } }),
  'limits.ts': change.limits ?? limits(),
  'auth.ts': AUTH,
  'proxy.ts': `
import { rateLimit } from '@sluice/next'
import { subject } from './auth'
import { limiter } from './limits'

export const proxy = rateLimit(limiter, { routes: ${change.routes ?? "['/api/ai/**']"}, subject })
export const config = { matcher: ${change.matcher ?? "['/api/ai/:path*']"} }
`,
  'app/api/ai/chat/route.ts': MODEL_ROUTE,
  'app/page.tsx': `export default function Page() { return <p>Hello</p> }`,
})

/** Creates a project of these files, whose variables are all set. */
export const nextApp = (
  local: LocalServer,
  change: Parameters<typeof nextFiles>[0] = {},
  files: Readonly<Record<string, string>> = {},
): Project => appOf(local, { ...nextFiles(change), ...files }, SECRET)

const server = (framework: string, lines: string): Record<string, string> => ({
  'limits.ts': limits({ policy: "routes: ['/api/ai/chat']" }),
  'auth.ts': AUTH,
  'server.ts': `
import { rateLimit } from '@sluice/adapters/${framework}'
import OpenAI from 'openai'
import { subject } from './auth.ts'
import { limiter } from './limits.ts'
${lines}
`,
})

/** The files of a Worker. */
export const WORKER: Readonly<Record<string, string>> = {
  'limits.ts': limits({ policy: "routes: ['chat']" }),
  'worker.ts': `
import { env } from 'cloudflare:workers'
import { rateLimit } from '@sluice/cloudflare'
import { jwtSubject } from '@sluice/core/jwt'
import OpenAI from 'openai'
import { limiter } from './limits'

const subject = jwtSubject({ secret: () => env.JWT_SECRET, algorithms: ['HS256'], claims: { tenant: 'tenant' } })
const handle = async () => Response.json(await new OpenAI().models.list())
export default { fetch: rateLimit(limiter, { routes: [{ path: '/api/ai/chat', id: 'chat' }], subject }, handle) }
`,
}

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

/** The variables of the clean projects. */
export const CLEAN_ENV = SECRET
