import type { CallToSend, ModelApi } from '@sluice/ai'
import { assertUrl, type Env } from './env.ts'
import { errorAnswer } from './errors.ts'
import type { Provider } from './models.ts'

/** A provider's API, and the operator's key for it. */
export interface Upstream {
  readonly baseUrl: string
  readonly key: string
}

/** Returns the providers that have a key. */
export function upstreamsOf(env: Env): Readonly<Partial<Record<Provider, Upstream>>> {
  const { OPENAI_API_KEY: openai, ANTHROPIC_API_KEY: anthropic } = env
  const { OPENAI_BASE_URL, ANTHROPIC_BASE_URL } = env
  const openaiUrl = OPENAI_BASE_URL || 'https://api.openai.com/v1'
  const anthropicUrl = ANTHROPIC_BASE_URL || 'https://api.anthropic.com'
  assertUrl('OPENAI_BASE_URL', openaiUrl)
  assertUrl('ANTHROPIC_BASE_URL', anthropicUrl)
  return {
    ...(openai && { openai: upstream(openai, openaiUrl) }),
    ...(anthropic && { anthropic: upstream(anthropic, anthropicUrl) }),
  }
}

const upstream = (key: string, url: string): Upstream => ({
  key: key.trim(),
  baseUrl: url.replace(/\/+$/, ''),
})

/** The addresses below the base URL. */
const PATHS: Readonly<Partial<Record<ModelApi, string>>> = {
  'openai-chat': '/chat/completions',
  'openai-responses': '/responses',
  'openai-embeddings': '/embeddings',
  'anthropic-messages': '/v1/messages',
}

/** Anthropic's betas that cost nothing beside tokens. Others are not passed on. */
const BETAS: ReadonlySet<string> = new Set([
  'extended-cache-ttl-2025-04-11',
  'interleaved-thinking-2025-05-14',
  'output-128k-2025-02-19',
  'pdfs-2024-09-25',
  'prompt-caching-2024-07-31',
  'structured-outputs-2025-11-13',
  'token-efficient-tools-2025-02-19',
])

/**
 * The headers of an answer that clients may see. A list of what passes, because providers also send
 * cookies, the name of the operator's organization, and how much of its own limits is left.
 */
const PASSED = [
  'cache-control',
  'content-language',
  'content-type',
  'openai-model',
  'openai-processing-ms',
  'openai-version',
  'request-id',
  'retry-after',
  'retry-after-ms',
  'server-timing',
  'x-request-id',
  'x-should-retry',
]

/** A call to forward. */
export type CallToForward = Pick<CallToSend, 'api' | 'body' | 'signal'>

/**
 * Sends a call to its provider, and returns the answer with the headers that clients may see.
 *
 * @param below The rest of the path, below that of the format.
 */
export async function forward(
  { baseUrl, key }: Upstream,
  { api, body, signal }: CallToForward,
  client: Headers,
  below = '',
): Promise<Response> {
  const answer = await fetch(baseUrl + PATHS[api] + below, {
    method: 'POST',
    headers:
      api === 'anthropic-messages' ? anthropicHeaders(key, client) : openaiHeaders(key, client),
    body,
    signal,
    // A redirect would take the key to another host.
    redirect: 'manual',
  })
  const headers = copied(answer.headers, PASSED)
  if (answer.status !== 401) return new Response(answer.body, { status: answer.status, headers })
  // The client's own key is good, and the provider's message shows a part of the operator's.
  console.error('The provider refuses the key of the gateway.')
  await answer.body?.cancel()
  const message = 'The provider refuses the key of this gateway.'
  headers.delete('content-type')
  headers.set('x-should-retry', 'false')
  return errorAnswer(502, 'upstream_unauthorized', message, Object.fromEntries(headers))
}

function openaiHeaders(key: string, client: Headers): Headers {
  const headers = copied(client, ['x-client-request-id'])
  headers.set('authorization', `Bearer ${key}`)
  headers.set('content-type', 'application/json')
  return headers
}

function anthropicHeaders(key: string, client: Headers): Headers {
  const betas = client.get('anthropic-beta')?.split(',') ?? []
  const allowed = betas.map((beta) => beta.trim()).filter((beta) => BETAS.has(beta))
  return new Headers({
    'anthropic-version': client.get('anthropic-version') ?? '2023-06-01',
    'content-type': 'application/json',
    'x-api-key': key,
    ...(allowed.length > 0 && { 'anthropic-beta': allowed.join(',') }),
  })
}

function copied(from: Headers, names: readonly string[]): Headers {
  const headers = new Headers()
  for (const name of names) {
    const value = from.get(name)
    if (value !== null) headers.set(name, value)
  }
  return headers
}
