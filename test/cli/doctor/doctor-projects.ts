/* Projects whose source files `sluice doctor` reads. */
import type { LocalServer } from '@sluice/local'
import { envOf, project, type Project } from '../project.ts'

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

/** A file that verifies JWTs. */
export const AUTH = `
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

/** The variables of these projects, beside those of the database. */
export const SECRET = 'JWT_SECRET=0123456789abcdef0123456789abcdef\n'

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

/** The files of a server. */
export const server = (framework: string, lines: string): Record<string, string> => ({
  'limits.ts': limits({ policy: "routes: ['/api/ai/chat']" }),
  'auth.ts': AUTH,
  'server.ts': `
import { rateLimit } from '@sluice/adapters/${framework}'
import OpenAI from 'openai'
import { subject } from './auth.ts'
import { limiter } from '../limits.ts'
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

/** A file with prices of these days. */
export const ownPrices = (...days: readonly string[]): string => `
import { definePrices } from '@sluice/ai'
export const prices = definePrices({
  ${days.map((day, at) => `m${at}: { input: 300_000, output: 1_200_000, asOf: '${day}' },`).join(' ')}
})
`

/** The files of a project with a price list of these days. It calls the models that `called` names. */
export const listPrices = (
  days: Readonly<Record<string, string>>,
  {
    called = 'a',
    checked = '',
    ends = '',
  }: { called?: string; checked?: string; ends?: string } = {},
): Record<string, string> => ({
  'limits.ts': limits(),
  'chat.ts': `
import { LIST_PRICES, modelHandler } from '@sluice/ai'
import { limiter } from './limits'
export const POST = modelHandler(limiter, { prices: LIST_PRICES, models: ['${called}'] }, {})
`,
  'node_modules/@sluice/ai/package.json': JSON.stringify({
    version: '0.1.0',
    type: 'module',
    exports: './index.js',
    ...(checked && { pricesChecked: checked }),
  }),
  'node_modules/@sluice/ai/index.js': `
const models = new Map(Object.entries(${JSON.stringify(days)}).map(([model, asOf]) => [model, { asOf, endsOn: '${ends}' || undefined }]))
export const LIST_PRICES = {
  models: () => models,
  nameOf: (model) => (models.has(model) ? model : undefined),
  get: (name) => models.get(name),
}`,
})
