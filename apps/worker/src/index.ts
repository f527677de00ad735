import { modelHandler, type ModelApi } from '@sluice/ai'
import { operatorHandler } from '@sluice/cloudflare/operator'
import { ConfigError } from '@sluice/core'
import { Refusal } from '@sluice/core/http'
import { tokenCounting } from './count-tokens.ts'
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

type Gateway = (request: Request, ctx: ExecutionContext) => Response | Promise<Response>

/** An isolate has one `env`; another would have limits, keys and providers of its own. */
const gateways = new WeakMap<Env, Gateway>()

export default {
  fetch(request, env, ctx) {
    let gateway = gateways.get(env)
    try {
      gateway ??= createGateway(env)
    } catch (error) {
      if (error instanceof ConfigError) return notConfigured(error.message)
      throw error
    }
    gateways.set(env, gateway)
    return gateway(request, ctx)
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

  const handlerOf = (api: ModelApi) =>
    modelHandler<[ExecutionContext]>(
      limiter,
      {
        subject: verify,
        api,
        models: models[providerOf(api)],
        prices,
        maxOutput: MAX_OUTPUT,
        minOutput: MIN_OUTPUT,
        headers: ['x-ratelimit', 'openai', 'draft'],
      },
      (call, { headers }) => {
        const upstream = upstreams[providerOf(api)]
        return upstream ? forward(upstream, call, headers) : standIn(call)
      },
    )
  const calls = new Map<string, { provider: Provider; handle: Gateway }>(
    Object.entries(CALLS).map(([path, api]) => [
      path,
      { provider: providerOf(api), handle: handlerOf(api) },
    ]),
  )
  const handle = tokenCounting(limiter, verify, upstreams.anthropic)
  calls.set(COUNT_TOKENS, { provider: 'anthropic', handle })

  /** Answers with the model of this name, or with all models without one. */
  async function showModels(request: Request, provider: Provider, id: string): Promise<Response> {
    const found = await verify(request)
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
  return (request, ctx) => {
    const { hostname, pathname } = new URL(request.url)
    const path = pathname.replace(/\/+$/, '')
    if (operator && path === OPERATOR) return operator(request)
    // Anthropic's clients send this header with every request.
    const client = request.headers.has('anthropic-version') ? 'anthropic' : 'openai'
    const call = calls.get(path)
    const id = modelIn(path)
    const provider = id === undefined ? call?.provider : client
    if (provider === undefined) return errorAnswer(404, 'not_found', 'There is nothing here.')
    const method = id === undefined ? 'POST' : 'GET'
    if (request.method !== method) {
      return errorAnswer(405, 'method_not_allowed', `Use ${method}.`, { allow: method })
    }
    // Without any provider, a stand-in answers to this machine only.
    if (hasUpstream ? !upstreams[provider] : !LOOPBACK.has(hostname)) {
      const name = provider === 'openai' ? 'OPENAI_API_KEY' : 'ANTHROPIC_API_KEY'
      return notConfigured(`${name} is not set, so this gateway has no model to call.`)
    }
    return call ? call.handle(request, ctx) : showModels(request, provider, id ?? '')
  }
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
