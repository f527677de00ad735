/*
 * A process of one version of `@hono/node-server`, which replaces the global `Request` and `Response`. Its first
 * argument names the version, and the second is the URL of a provider. Sends its own URL when it listens.
 */
import { LIST_PRICES, limitedFetch, meter, modelHandler } from '@sluice/ai'
import { rateLimit as limitAstro } from '@sluice/adapters/astro'
import { rateLimit as limitH3 } from '@sluice/adapters/h3'
import { rateLimit as limitHono } from '@sluice/adapters/hono'
import { rateLimit as limitReactRouter } from '@sluice/adapters/react-router'
import { rateLimit as limitSvelteKit } from '@sluice/adapters/sveltekit'
import { rateLimit as limitTrpc } from '@sluice/adapters/trpc'
import { concurrency, createLimiter, fixedWindow, type Limiter, type Policy } from '@sluice/core'
import { rateLimit, reserving, type ChargingCost } from '@sluice/core/http'
import { memory } from '@sluice/core/memory'
import { rateLimit as limitProxy, withRateLimit } from '@sluice/next'
import { initTRPC } from '@trpc/server'
import { fetchRequestHandler } from '@trpc/server/adapters/fetch'
import { H3 } from 'h3'
import { Hono } from 'hono'
import { NextRequest } from 'next/server.js'
import { LIMIT, VERSIONS, type Door } from './doors.ts'

type Fetch = (request: Request) => unknown

const [version = '', provider = ''] = process.argv.slice(2)
const serve = await VERSIONS[version as keyof typeof VERSIONS]()

const upstream = `${provider}/v1/chat/completions`
const OlderRequest = Request

/** Passes a request on, and its response back as it came: nobody can change the headers of a fetched one. */
const proxy = async (request: Request): Promise<Response> =>
  fetch(upstream, { method: 'POST', body: await request.text() })

const subject = (request: Request) => ({ tenant: request.headers.get('x-tenant') ?? '' })
const rpm = (limit: number) => fixedWindow({ name: 'rpm', limit, window: '366d', per: ['tenant'] })
const limiterOf = (...policies: Policy[]) => createLimiter({ store: memory(), policies })

const plain = limiterOf(rpm(LIMIT))
const withSlots = limiterOf(
  rpm(LIMIT),
  concurrency({ name: 'in-flight', limit: 9, per: ['tenant'] }),
)

interface Terms {
  readonly subject: typeof subject
  readonly cost?: ChargingCost
}

/** The doors of an adapter, named `name` and `name, held`. */
function doorsOf<Name extends string>(
  name: Name,
  fetchOf: (limiter: Limiter, terms: Terms) => Fetch,
): Record<Name | `${Name}, held`, Fetch> {
  return {
    [name]: fetchOf(plain, { subject }),
    [`${name}, held`]: fetchOf(withSlots, { subject, cost: reserving({ request: 1, call: 1 }) }),
  } as Record<Name | `${Name}, held`, Fetch>
}

const inHono = (limiter: Limiter, terms: Terms) =>
  new Hono().use(limitHono(limiter, terms)).post('*', ({ req }) => proxy(req.raw))

function inH3(limiter: Limiter, terms: Terms): Fetch {
  const app = new H3({ silent: true })
  app.use(limitH3(limiter, { ...terms, routes }))
  app.post('/**', async ({ req }) => {
    const answer = await proxy(req)
    // To H3, only what the global class has made is a response.
    return new Response(answer.body, answer)
  })
  return (request) => app.fetch(request)
}

// These frameworks pass more to middleware than it takes.
function inReactRouter(limiter: Limiter, terms: Terms): Fetch {
  const limit = limitReactRouter(limiter, terms)
  return (request) => {
    const args = { request, pattern: '/chat', context: {} }
    return limit(args as never, () => proxy(request))
  }
}

function inSvelteKit(limiter: Limiter, terms: Terms): Fetch {
  const handle = limitSvelteKit(limiter, { ...terms, routes })
  return (request) => {
    const event = { request, route: { id: '/chat' }, isRemoteRequest: false }
    return handle({ event: event as never, resolve: () => proxy(request) })
  }
}

function inAstro(limiter: Limiter, terms: Terms): Fetch {
  const onRequest = limitAstro(limiter, { ...terms, routes })
  return (request) => onRequest({ request, routePattern: '/chat' } as never, () => proxy(request))
}

function inNextRoute(limiter: Limiter, terms: Terms): Fetch {
  const POST = withRateLimit(proxy, { limiter, ...terms, route: 'chat' })
  return (request) => POST(request, undefined)
}

const routes = ['/**']
const inNextProxy = limitProxy(plain, { subject, routes, next: proxy })

const t = initTRPC.context<{ req: Request; resHeaders: Headers }>().create()
const router = t.router({
  chat: t.procedure
    .use(limitTrpc(plain, { subject }))
    .mutation(async () => (await fetch(upstream, { method: 'POST', body: '{}' })).json()),
})

const modelTerms = { subject, prices: LIST_PRICES }
const limitedFetchOf = (request: Request) =>
  limitedFetch(withSlots, { ...modelTerms, subject: subject(request) })

const DOORS: Readonly<Record<Door, Fetch>> = {
  modelHandler: modelHandler(withSlots, modelTerms, { url: upstream, key: 'key' }),
  'modelHandler with a function': modelHandler(
    withSlots,
    { ...modelTerms, api: 'openai-chat' },
    ({ body }) => fetch(upstream, { method: 'POST', body }),
  ),
  limitedFetch: async (request) =>
    limitedFetchOf(request)(upstream, { method: 'POST', body: await request.text() }),
  'limitedFetch of a Request': async (request) =>
    limitedFetchOf(request)(new Request(upstream, { method: 'POST', body: await request.text() })),
  'limitedFetch of an older Request': async (request) =>
    limitedFetchOf(request)(
      new OlderRequest(upstream, { method: 'POST', body: await request.text() }),
    ),
  meter: rateLimit(plain, { subject, routes }, async (request) =>
    meter(await proxy(request), { settle: () => undefined }),
  ),
  ...doorsOf('rateLimit', (limiter, terms) => rateLimit(limiter, { ...terms, routes }, proxy)),
  ...doorsOf('hono', (limiter, terms) => inHono(limiter, terms).fetch),
  'hono in hono': new Hono()
    .use(limitHono(limiterOf(rpm(99)), { subject, headers: false }))
    .route('/', inHono(plain, { subject })).fetch,
  ...doorsOf('h3', inH3),
  ...doorsOf('react-router', inReactRouter),
  ...doorsOf('sveltekit', inSvelteKit),
  ...doorsOf('astro', inAstro),
  ...doorsOf('next route', inNextRoute),
  'next proxy.ts': async (request) => {
    const { url, method, headers } = request
    return inNextProxy(new NextRequest(url, { method, headers, body: await request.text() }))
  },
  trpc: (req) =>
    fetchRequestHandler({
      endpoint: '/',
      req,
      router,
      createContext: ({ resHeaders }) => ({ req, resHeaders }),
    }),
}

const fetchByDoor = (request: Request) =>
  DOORS[request.headers.get('x-door') as Door](request) as Promise<Response>
serve({ fetch: fetchByDoor, port: 0, hostname: '127.0.0.1' }, ({ port }) => {
  process.send?.(`http://127.0.0.1:${port}`)
})
