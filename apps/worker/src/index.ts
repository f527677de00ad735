import { waitUntil } from '@sluice/cloudflare/wait-until'
import { operatorHandler } from '@sluice/cloudflare/operator'
import { ConfigError } from '@sluice/core'
import { Refusal } from '@sluice/core/http'
import { administrationFor } from './admin/index.ts'
import { tokenCounting } from './count-tokens.ts'
import { startNotes, type CallNotes } from './call-notes.ts'
import { createCalls, type CallContext } from './calls.ts'
import { callSettings } from './call-settings.ts'
import { createHealth, unconfigured } from './health.ts'
import { finish } from './finish.ts'
import type { Env } from './env.ts'
import { errorAnswer, notConfigured } from './errors.ts'
import { keyVerifier } from './keys.ts'
import { limiterFor, planOf, PLAN_NAMES } from './limits.ts'
import { ALIASES, PROVIDERS } from './providers.ts'
import { callHandler, type CallHandler, type SendTo } from './providers/handlers.ts'
import { describeModel, modelList } from './providers/model-list.ts'
import { answers, offersOf } from './providers/offers.ts'
import type { Api } from './providers/provider.ts'
import { forward } from './providers/send.ts'
import { ownUsage } from './spend/own-usage.ts'
import { tenantIdsIn } from './spend/recording.ts'
import { standIn } from './stand-in.ts'
import { inKnownStore, OBJECTS, storeOf } from './store.ts'

export { Limits } from './objects.ts'

/** The kind of calls at each address. */
const CALLS = {
  '/v1/chat/completions': 'openai-chat',
  '/v1/responses': 'openai-responses',
  '/v1/embeddings': 'openai-embeddings',
  '/v1/messages': 'anthropic-messages',
} as const satisfies Record<string, Api>

const MODELS = '/v1/models'
const COUNT_TOKENS = '/v1/messages/count_tokens'
const OPERATOR = '/sluice'
const USAGE = '/v1/usage'

const LOOPBACK: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]'])

const HEALTH = '/health'

type Gateway = (request: Request, ...context: CallContext) => Promise<Response>

/** An isolate has one `env`; another would have limits, keys and providers of its own. */
const gateways = new WeakMap<Env, Gateway>()
/** Environments with a wrong setting. The log tells each of them once. */
const refused = new WeakSet<Env>()

export default {
  async fetch(request, env, ctx) {
    const notes = startNotes(request)
    let gateway = gateways.get(env)
    try {
      gateway ??= createGateway(env)
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error
      if (!refused.has(env)) console.error(error.message)
      refused.add(env)
      const isHealth = new URL(request.url).pathname === HEALTH
      const answer = isHealth ? unconfigured(error.message) : notConfigured(error.message)
      return finish(answer, notes)
    }
    gateways.set(env, gateway)
    return gateway(request, notes, ctx)
  },
} satisfies ExportedHandler<Env>

function createGateway(env: Env): Gateway {
  const { LIMITS, SLUICE_OBJECTS_TOKEN: token } = env
  const counting = storeOf(env)
  const limiter = limiterFor(counting.store, {
    tenantIds: tenantIdsIn(env.TENANT_IDS),
    isInHome: counting.name === OBJECTS,
    waitUntil,
  })
  const verify = inKnownStore(keyVerifier(limiter), counting, LIMITS)
  const operator = LIMITS && token ? operatorHandler(LIMITS, { token }) : undefined
  const admin = administrationFor(env, limiter, counting)
  const offers = offersOf(env, PROVIDERS, ALIASES, PLAN_NAMES)
  const hasProvider = offers.providers.some(({ secret }) => secret)
  const settings = callSettings(env)
  const shared = createCalls(settings)
  const findSubject = shared.subject(verify)
  const showUsage = ownUsage(limiter, findSubject)

  const send: SendTo = (provider, call, request, notes) =>
    shared.send(provider, call, request, notes, (signal, headers) =>
      provider.secret
        ? forward(provider, { ...call, signal }, headers)
        : standIn({ ...call, signal }),
    )
  const calls = new Map<string, CallHandler | undefined>(
    Object.entries(CALLS).map(([path, api]) => [
      path,
      callHandler({ limiter, offers, api, planOf, findSubject, send }, (prices) => ({
        ...shared.options(prices),
        headers: ['x-ratelimit', 'openai', 'draft'],
      })),
    ]),
  )
  const { maxBodyBytes } = settings
  calls.set(
    COUNT_TOKENS,
    tokenCounting({ limiter, offers, planOf, findSubject, send }, maxBodyBytes),
  )

  /** Answers with the model of this name, or with all models without one. */
  async function showModels(
    request: Request,
    notes: CallNotes,
    apis: readonly Api[],
    id: string,
  ): Promise<Response> {
    const subject = await findSubject(request, notes)
    if (subject instanceof Refusal) {
      const { status, code, message, headers } = subject.options
      return errorAnswer(status, code, message, headers)
    }
    const plan = planOf(subject)
    if (id === '') return Response.json(modelList(offers.list(apis, plan)))
    const offer = offers.find(id, plan)
    if (offer && apis.some((api) => answers(offer.provider, api))) {
      return Response.json(describeModel(id, offer))
    }
    const message = `${JSON.stringify(id.slice(0, 64))} is not offered: GET ${MODELS} lists the models that are.`
    return errorAnswer(404, 'model_not_found', message)
  }

  console.log(`Keys and budgets are in ${counting.name}.`)
  const providers = offers.providers.flatMap(({ id, secret }) => (secret ? [id] : []))
  const health = createHealth(verify, providers, shared.states)

  function route(
    request: Request,
    notes: CallNotes,
    ctx: CallContext[1],
  ): Response | Promise<Response> {
    const { hostname, pathname } = new URL(request.url)
    const path = pathname.replace(/\/+$/, '')
    if (operator && path === OPERATOR) return operator(request)
    if (admin && /^\/admin(\/|$)/.test(pathname)) return admin(request, notes)
    if (path === HEALTH) {
      if (request.method === 'GET' || request.method === 'HEAD') return health()
      return errorAnswer(405, 'method_not_allowed', 'Use GET.', { allow: 'GET, HEAD' })
    }
    if (path === USAGE) {
      notes.address = USAGE
      return onlyGet(request) ?? showUsage(request, notes, ctx)
    }
    const id = modelIn(path)
    const apis = id === undefined ? apisAt(path) : apisOf(request)
    if (apis.length === 0) return errorAnswer(404, 'not_found', 'There is nothing here.')
    notes.address = id === undefined ? path : MODELS
    const method = id === undefined ? 'POST' : 'GET'
    if (request.method !== method) {
      return errorAnswer(405, 'method_not_allowed', `Use ${method}.`, { allow: method })
    }
    const isAnswered = offers.providers.some((one) => apis.some((api) => answers(one, api)))
    // Without any provider, a stand-in answers to this machine only.
    if (!isAnswered || !(hasProvider || LOOPBACK.has(hostname))) {
      const one = PROVIDERS.find((provider) => apis.some((api) => answers(provider, api)))
      const key = one ? `${one.key} is not set, nor is another` : 'There is no'
      return notConfigured(`${key} key of a provider that answers such calls.`)
    }
    const call = calls.get(path)
    return call ? call(request, notes, ctx) : showModels(request, notes, apis, id ?? '')
  }

  return (request, notes, ctx) => shared.serve(notes, ctx, () => route(request, notes, ctx))
}

const onlyGet = ({ method }: Request): Response | undefined =>
  method === 'GET'
    ? undefined
    : errorAnswer(405, 'method_not_allowed', 'Use GET.', { allow: 'GET' })

/** Returns the kind of calls at an address. */
function apisAt(path: string): readonly Api[] {
  if (path === COUNT_TOKENS) return ['anthropic-messages']
  return Object.hasOwn(CALLS, path) ? [CALLS[path as keyof typeof CALLS]] : []
}

/** Returns the kinds of calls that a client makes: Anthropic's send this header with every request. */
const apisOf = ({ headers }: Request): readonly Api[] =>
  headers.has('anthropic-version')
    ? ['anthropic-messages']
    : ['openai-chat', 'openai-responses', 'openai-embeddings']

/** Returns the name in the path of a model, nothing for that of the list, and `undefined` for any other path. */
function modelIn(path: string): string | undefined {
  if (path === MODELS) return ''
  if (!path.startsWith(`${MODELS}/`)) return undefined
  try {
    return decodeURIComponent(path.slice(MODELS.length + 1))
  } catch {
    return undefined
  }
}
