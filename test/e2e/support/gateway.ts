import { fileURLToPath } from 'node:url'
import Anthropic from '@anthropic-ai/sdk'
import { durableObjects, remoteObjects } from '@sluice/cloudflare/operator'
import type { Store as LimiterStore } from '@sluice/core'
import { createApiKey } from '@sluice/core/api-keys'
import { upstash } from '@sluice/core/upstash'
import OpenAI from 'openai'
import { limiterFor } from '../../../apps/worker/src/limits.ts'
import * as recorded from '../../ai/recordings.ts'
import { serve } from '../../ai/provider.ts'
import { STORE_TIMEOUT_MS, startStore, type App, type Store } from './target.ts'
import { builtWorker, runWorker, type WorkerApp, type WorkerBundle } from './workerd.ts'
import { MODELS as NAMED } from '../../support/models.ts'

const folder = fileURLToPath(new URL('../../../apps/worker/', import.meta.url))

/** A request as the provider received it. */
interface ProviderRequest {
  readonly path: string
  /** The parameters behind it, with their "?". */
  readonly search: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: Readonly<Record<string, unknown>>
}

/** OpenAI and Anthropic at one address, in the test's hands. */
export interface GatewayProvider extends AsyncDisposable {
  readonly url: string
  readonly requests: ProviderRequest[]
  /** Answers what comes next; by default as recorded. */
  respond: (request: ProviderRequest) => Response | Promise<Response>
  reset(): void
}

export async function startProvider(): Promise<GatewayProvider> {
  const requests: ProviderRequest[] = []
  const server = await serve(async (request) => {
    const { pathname: path, search } = new URL(request.url)
    const received: ProviderRequest = {
      path,
      search,
      headers: Object.fromEntries(request.headers),
      body: (request.method === 'POST' ? await request.json() : {}) as ProviderRequest['body'],
    }
    requests.push(received)
    return provider.respond(received)
  })
  const provider: GatewayProvider = {
    ...server,
    requests,
    respond: answerAsRecorded,
    reset: () => void (provider.respond = answerAsRecorded),
  }
  return provider
}

function answerAsRecorded({ path, body }: ProviderRequest): Response {
  // As OpenAI, it tells the usage of a stream only if it is asked.
  const [json, events] = recordingOf(path, body['stream_options'] !== undefined)
  if (body['stream'] !== true) return Response.json(json)
  return new Response(events, { headers: { 'content-type': 'text/event-stream' } })
}

function recordingOf(path: string, tellsUsage: boolean): [json: object, events: string] {
  if (path.endsWith('/responses')) return [recorded.RESPONSES_JSON, recorded.responsesSse()]
  if (path.endsWith('/messages')) return [recorded.MESSAGES_JSON, recorded.MESSAGES_SSE]
  if (path.endsWith('/embeddings')) return [EMBEDDINGS, '']
  return [recorded.CHAT_JSON, tellsUsage ? recorded.CHAT_SSE : recorded.CHAT_SSE_WITHOUT_USAGE]
}

const EMBEDDINGS = {
  object: 'list',
  data: [{ object: 'embedding', index: 0, embedding: [0.25, -0.5, 1] }],
  model: 'text-embedding-3-small',
  usage: { prompt_tokens: 3, total_tokens: 3 },
}

/** The settings that make the gateway call `provider`, with the operator's keys. */
export const upstreamsAt = ({ url }: GatewayProvider): Record<string, string> => ({
  OPENAI_API_KEY: OPERATOR.openai,
  OPENAI_BASE_URL: `${url}/v1`,
  ANTHROPIC_API_KEY: OPERATOR.anthropic,
  ANTHROPIC_BASE_URL: url,
})

export const OPERATOR = { openai: 'sk-operator-openai', anthropic: 'sk-operator-anthropic' }

let bundle: Promise<WorkerBundle> | undefined

/**
 * Starts the gateway with `variables`, and with the settings of `store` if it is given.
 *
 * @param storage The folder that keeps its Durable Objects.
 */
export async function startGateway(
  variables: Record<string, string>,
  store?: Store,
  storage?: string,
): Promise<WorkerApp> {
  bundle ??= builtWorker(folder)
  const settings = { STORE_TIMEOUT_MS, ...(store && settingsOf(store)), ...variables }
  return runWorker(await bundle, settings, storage)
}

export const settingsOf = ({ url, token }: Pick<Store, 'url' | 'token'>) => ({
  UPSTASH_REDIS_REST_URL: url,
  UPSTASH_REDIS_REST_TOKEN: token,
})

/** The key of the operator's addresses below `/admin`, and the header that has it. */
export const ADMIN = { ADMIN_KEY: 'the-key-of-the-operator-of-the-gateway' }
export const asAdmin = { authorization: `Bearer ${ADMIN.ADMIN_KEY}` }

const TOKEN = 'the-token-of-the-operator-of-the-gateway'

/** The settings with which a gateway lets its operator in, and those of the operator's terminal. */
export const OPERATED = { SLUICE_OBJECTS_TOKEN: TOKEN }
export const terminalOf = ({ url }: Pick<App, 'url'>) => ({
  ...OPERATED,
  SLUICE_OBJECTS_URL: `${url}/sluice`,
})

/** The limiter of the gateway, and the making of keys in its store. */
function keysIn(store: LimiterStore) {
  const limiter = limiterFor(store)
  return {
    limiter,
    async create(plan = 'growth', tenant = `tenant-${crypto.randomUUID()}`) {
      const { key, id } = await createApiKey(limiter, { tenant, plan })
      return { key, id, tenant }
    },
  }
}

/** Keys in the Durable Objects of a gateway. */
export function keysOf({ url }: App) {
  const objects = remoteObjects({ url: `${url}/sluice`, token: TOKEN })
  return keysIn(durableObjects(objects, { timeoutMs: Number(STORE_TIMEOUT_MS) }))
}

/** A Redis with keys. */
export async function startKeys() {
  const store = await startStore()
  const { url, token } = store
  return { store, ...keysIn(upstash({ url, token, timeoutMs: Number(STORE_TIMEOUT_MS) })) }
}

/** The gateway in front of a provider, with keys in its store. */
export interface GatewayStack extends AsyncDisposable {
  readonly url: string
  readonly keys: ReturnType<typeof keysIn>
  readonly provider: GatewayProvider
}

type Variables = Record<string, string>

/** Starts the gateway over Durable Objects. */
export async function startGatewayStack(variables: Variables = {}): Promise<GatewayStack> {
  const provider = await startProvider()
  const gateway = await startGateway({ ...upstreamsAt(provider), ...OPERATED, ...variables })
  return {
    url: gateway.url,
    keys: keysOf(gateway),
    provider,
    async [Symbol.asyncDispose]() {
      await gateway.stop()
      await provider[Symbol.asyncDispose]()
    },
  }
}

/** The gateway over a Redis. */
export interface RedisStack extends GatewayStack {
  readonly keys: Awaited<ReturnType<typeof startKeys>>
  readonly app: WorkerApp
}

export async function startRedisStack(variables: Variables = {}): Promise<RedisStack> {
  const keys = await startKeys()
  const provider = await startProvider()
  const app = await startGateway({ ...upstreamsAt(provider), ...variables }, keys.store)
  return {
    url: app.url,
    app,
    keys,
    provider,
    async [Symbol.asyncDispose]() {
      await app.stop()
      await provider[Symbol.asyncDispose]()
      await keys.store[Symbol.asyncDispose]()
    },
  }
}

/** The stores that a gateway may have, with the one it has by default first. */
export const STACKS: readonly (readonly [
  store: string,
  start: (variables?: Variables) => Promise<GatewayStack>,
])[] = [
  ['Durable Objects', startGatewayStack],
  ['Redis', startRedisStack],
]

/** Returns the error that a client makes of an answer, or an empty object if it makes none. */
export const failureOf = (call: Promise<unknown>): Promise<object> =>
  call.then(
    () => ({}),
    (error: object) => error,
  )

/** A chat with OpenAI, and a message to Anthropic. */
export const chat = { model: NAMED.openai, messages: [{ role: 'user' as const, content: 'Why?' }] }
export const message = { ...chat, model: 'claude-haiku-4-5', max_tokens: 9 }

/** Posts JSON to a gateway. */
export const post = (
  url: string,
  body: object,
  headers: Record<string, string>,
): Promise<Response> => fetch(url, { method: 'POST', body: JSON.stringify(body), headers })

/** The official clients, with nothing but an address and a key. */
export const clientsOf = (url: string, apiKey: string) => ({
  openai: new OpenAI({ apiKey, baseURL: `${url}/v1`, maxRetries: 0 }),
  anthropic: new Anthropic({ apiKey, baseURL: url, maxRetries: 0 }),
})
export type Clients = ReturnType<typeof clientsOf>
