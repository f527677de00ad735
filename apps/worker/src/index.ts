import { modelHandler, type ModelApi } from '@sluice/ai'
import { operatorHandler } from '@sluice/cloudflare/operator'
import { ConfigError } from '@sluice/core'
import { Refusal } from '@sluice/core/http'
import { tokenCounting } from './count-tokens.ts'
import { startNotes, type CallNotes } from './call-notes.ts'
import { createCalls, type CallContext } from './calls.ts'
import { callSettings } from './call-settings.ts'
import { createHealth, unconfigured } from './health.ts'
import { finish } from './finish.ts'
import type { Env } from './env.ts'
import { errorAnswer, notConfigured } from './errors.ts'
import { keyVerifier } from './keys.ts'
import { limiterFor, MAX_OUTPUT, MIN_OUTPUT } from './limits.ts'
import { modelList, modelNamed, offeredModels, prices, type Provider } from './models.ts'
import { standIn } from './stand-in.ts'
import { inKnownStore, storeOf } from './store.ts'
import { forward, upstreamsOf } from './upstream.ts'

export { Limits } from './objects.ts'

/** The format of each address. */
const CALLS = {
  '/v1/chat/completions': 'openai-chat',
  '/v1/responses': 'openai-responses',
  '/v1/embeddings': 'openai-embeddings',
  '/v1/messages': 'anthropic-messages',
} as const satisfies Record<string, ModelApi>

const providerOf = (api: ModelApi): Provider =>
  api === 'anthropic-messages' ? 'anthropic' : 'openai'

const MODELS = '/v1/models'
const COUNT_TOKENS = '/v1/messages/count_tokens'
const OPERATOR = '/sluice'

const LOOPBACK: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]'])

const HEALTH = '/health'

type Handler = (request: Request, ...context: CallContext) => Promise<Response>
type Gateway = (request: Request, ...context: CallContext) => Promise<Response>

/** An isolate has one `env`; another would have limits, keys and providers of its own. */
const gateways = new WeakMap<Env, Gateway>()

export default {
  async fetch(request, env, ctx) {
    const notes = startNotes(request)
    let gateway = gateways.get(env)
    try {
      gateway ??= createGateway(env)
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error
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
  const limiter = limiterFor(counting.store)
  const verify = inKnownStore(keyVerifier(limiter), counting, LIMITS)
  const operator = LIMITS && token ? operatorHandler(LIMITS, { token }) : undefined
  const models = offeredModels(env)
  const upstreams = upstreamsOf(env)
  const hasUpstream = Object.keys(upstreams).length > 0
  const settings = callSettings(env)
  const shared = createCalls(settings, prices)
  const findSubject = shared.subject(verify)

  const handlerOf = (api: ModelApi) =>
    modelHandler<CallContext>(
      limiter,
      {
        ...shared.options,
        subject: findSubject,
        api,
        models: models[providerOf(api)],
        prices,
        maxOutput: MAX_OUTPUT,
        minOutput: MIN_OUTPUT,
        headers: ['x-ratelimit', 'openai', 'draft'],
      },
      (call, request, notes) => {
        const provider = providerOf(api)
        const upstream = upstreams[provider]
        return shared.send(
          upstream ? provider : 'stand-in',
          call,
          request,
          notes,
          (signal, headers) => {
            const toSend = { ...call, signal }
            return upstream ? forward(upstream, toSend, headers) : standIn(toSend)
          },
        )
      },
    )
  const calls = new Map<string, { provider: Provider; handle: Handler }>(
    Object.entries(CALLS).map(([path, api]) => [
      path,
      { provider: providerOf(api), handle: handlerOf(api) },
    ]),
  )
  const { anthropic } = upstreams
  const handle = tokenCounting(
    limiter,
    findSubject,
    settings.maxBodyBytes,
    anthropic &&
      ((call, request, notes) =>
        shared.send('anthropic', call, request, notes, (signal, headers) =>
          forward(anthropic, { ...call, signal }, headers, '/count_tokens'),
        )),
  )
  calls.set(COUNT_TOKENS, { provider: 'anthropic', handle })

  /** Answers with the model of this name, or with all models without one. */
  async function showModels(
    request: Request,
    notes: CallNotes,
    provider: Provider,
    id: string,
  ): Promise<Response> {
    const found = await findSubject(request, notes)
    if (found instanceof Refusal) {
      const { status, code, message, headers } = found.options
      return errorAnswer(status, code, message, headers)
    }
    const names = models[provider]
    const answer = id === '' ? modelList(names, provider) : modelNamed(id, names, provider)
    if (answer) return Response.json(answer)
    const message = `${JSON.stringify(id.slice(0, 64))} is not offered: add it to the setting MODELS`
    return errorAnswer(404, 'model_not_found', message)
  }

  console.log(`Keys and budgets are in ${counting.name}.`)
  const providers = (['openai', 'anthropic'] as const).map((id) => ({
    id,
    configured: upstreams[id] !== undefined,
  }))
  const health = createHealth(verify, providers, shared.states)

  function route(
    request: Request,
    notes: CallNotes,
    ctx: ExecutionContext,
  ): Response | Promise<Response> {
    const { hostname, pathname } = new URL(request.url)
    const path = pathname.replace(/\/+$/, '')
    if (operator && path === OPERATOR) return operator(request)
    if (path === HEALTH) {
      if (request.method === 'GET' || request.method === 'HEAD') return health()
      return errorAnswer(405, 'method_not_allowed', 'Use GET.', { allow: 'GET, HEAD' })
    }
    // Anthropic's clients send this header with every request.
    const client = request.headers.has('anthropic-version') ? 'anthropic' : 'openai'
    const call = calls.get(path)
    const id = modelIn(path)
    const provider = id === undefined ? call?.provider : client
    if (provider === undefined) return errorAnswer(404, 'not_found', 'There is nothing here.')
    notes.address = id === undefined ? path : MODELS
    const method = id === undefined ? 'POST' : 'GET'
    if (request.method !== method) {
      return errorAnswer(405, 'method_not_allowed', `Use ${method}.`, { allow: method })
    }
    // Without any provider, a stand-in answers to this machine only.
    if (hasUpstream ? !upstreams[provider] : !LOOPBACK.has(hostname)) {
      const name = provider === 'openai' ? 'OPENAI_API_KEY' : 'ANTHROPIC_API_KEY'
      return notConfigured(`${name} is not set, so this gateway has no model to call.`)
    }
    return call ? call.handle(request, notes, ctx) : showModels(request, notes, provider, id ?? '')
  }

  return (request, notes, ctx) => shared.serve(notes, ctx, () => route(request, notes, ctx))
}

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
