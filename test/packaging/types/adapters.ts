// Adapters with limiters, resolvers and handlers of many shapes. Everything here must be accepted.
import { rateLimit as rateLimitWorker } from '@sluice/cloudflare'
import type { Limiter } from '@sluice/core'
import { createGuard, rateLimit, reserving, type GuardOptions } from '@sluice/core/http'
import { addressSubject } from '@sluice/core/identity'
import { rateLimit as rateLimitNext, withRateLimit } from '@sluice/next'
import { limitedConsumer } from '@sluice/queue/cloudflare'
import type { NextRequest } from 'next/server.js'

interface Env {
  readonly TENANT: string
}
interface Context {
  waitUntil(promise: Promise<unknown>): void
}
declare const limiter: Limiter
declare const limiterFor: (env: Env) => Limiter
declare const ctx: Context
const env: Env = { TENANT: 'acme' }
const request = new Request('https://app.example/')
const routes = ['/api/ai/**']
const answer = (...facts: unknown[]) => new Response(facts.join())
const ofRequest = ({ url }: Request) => ({ tenant: url })
const ofEnv = (_request: Request, { TENANT }: Env) => ({ tenant: TENANT })

// Handlers with any further arguments, whatever the resolver takes.
const plain = rateLimit(limiter, { routes, subject: ofRequest }, ({ url }) => answer(url))
const worker = rateLimit(
  limiter,
  { routes, subject: ofRequest },
  (_request: Request, bindings: Env, context: Context) => answer(bindings.TENANT, context),
)
const rest = rateLimit(limiter, { routes, subject: ofRequest }, (_request, ...others: unknown[]) =>
  answer(...others),
)
const unknownContext = rateLimit(
  limiter,
  { routes, subject: ofRequest },
  (_request: Request, context: unknown) => answer(context),
)
const optionalContext = rateLimit(
  limiter,
  { routes, subject: ofRequest },
  (_request: Request, context?: Context) => answer(context),
)
declare const loose: (...args: unknown[]) => Response
const anything = rateLimit(limiter, { routes, subject: ofRequest }, loose)
void plain(request)
void worker(request, env, ctx)
void rest(request)
void rest(request, env, 5)
void unknownContext(request, 5)
void optionalContext(request)
void optionalContext(request, ctx)
void anything(request, 5)

// SvelteKit: the event stands beside its request.
interface Event {
  readonly request: Request
}
interface HandleInput {
  readonly event: Event
  readonly resolve: (event: Event) => Promise<Response>
}
const limited = rateLimit(
  limiter,
  { routes, subject: (_request, { event }) => ({ tenant: event.request.url }) },
  (_request: Request, { event, resolve }: HandleInput) => resolve(event),
)
export const handle = (input: HandleInput): Promise<Response> => limited(input.event.request, input)

// A context that only the limiter, the resolver or a cost takes.
void rateLimit(limiterFor, { routes, subject: ofRequest }, () => answer())(request, env)
void rateLimit(limiterFor, { routes, subject: ofRequest }, (_request, bindings) =>
  answer(bindings.TENANT),
)(request, env)
void rateLimit(limiter, { routes, subject: ofEnv }, () => answer())(request, env)
void rateLimit(limiter, { routes, subject: ofEnv }, (_request, bindings) =>
  answer(bindings.TENANT),
)(request, env)
void rateLimit(
  limiterFor,
  { routes, subject: ofEnv },
  (_request: Request, bindings: Env, context: Context) => answer(bindings, context),
)(request, env, ctx)
void rateLimit(
  limiter,
  {
    routes: [{ path: '/a', cost: (_request: Request, bindings: Env) => bindings.TENANT.length }],
    subject: ofRequest,
  },
  (_request: Request, bindings: Env) => answer(bindings),
)(request, env)
void rateLimit<[Env, Context]>(
  limiterFor,
  { routes, subject: ofRequest },
  (_request, bindings, context) => answer(bindings.TENANT, context),
)(request, env, ctx)

// A Worker's limiter, made once or for its bindings.
const fetchHandler = rateLimitWorker(
  limiter,
  { routes, subject: ofEnv },
  (_request, bindings, context) => answer(bindings.TENANT, context),
)
void fetchHandler(request, env, ctx)
void rateLimitWorker(limiterFor, { routes, subject: ofRequest }, () => answer())
void rateLimitWorker(limiter, { routes, subject: ofRequest }, () => answer())
void limitedConsumer(limiter, { subject: () => ({ tenant: 'acme' }) }, () => {})
void limitedConsumer(
  limiterFor,
  { subject: (_message, { TENANT }) => ({ tenant: TENANT }) },
  () => {},
)

// Next.js: functions of the request get a NextRequest, and those of a Request go on to fit.
const byCookie = ({ cookies }: NextRequest) => {
  const tenant = cookies.get('tenant')?.value
  return tenant === undefined ? null : { tenant }
}
const length = (next: NextRequest) => next.nextUrl.pathname.length
rateLimitNext(limiter, { routes, subject: byCookie })
rateLimitNext(limiter, { routes, subject: ofRequest })
rateLimitNext(limiter, { routes, subject: addressSubject({ from: 'vercel', development: true }) })
rateLimitNext(limiter, {
  routes: [{ path: '/a', cost: length }],
  subject: ({ cookies }) => ({ tenant: cookies.get('tenant')?.value ?? 'nobody' }),
  cost: length,
  onDenied: (_decision, { nextUrl }) => answer(nextUrl.pathname),
})
const shared = { limiter, route: 'evaluate' }
withRateLimit(({ url }: Request) => answer(url), { ...shared, subject: byCookie })
withRateLimit((next: NextRequest) => answer(next.cookies), { ...shared, subject: ofRequest })
withRateLimit(() => answer(), { ...shared, subject: ofRequest, cost: reserving({ token: 9 }) })
withRateLimit(
  async (_next: NextRequest, { params }: { params: Promise<{ id: string }> }) =>
    answer(await params),
  { ...shared, subject: byCookie, cost: length },
)

// An adapter of one's own, with its platform's kind of request.
const options: GuardOptions<[], NextRequest> = { subject: byCookie }
const guard = createGuard(limiter, options)
declare const next: NextRequest
void guard({ id: 'evaluate', cost: length }, next)
