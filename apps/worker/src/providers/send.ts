import type { CallToSend } from '@sluice/ai'
import { errorAnswer } from '../errors.ts'
import type { ProviderInUse } from './in-use.ts'
import { PATHS, type Api } from './provider.ts'

/**
 * Anthropic's betas that cost nothing beside tokens. Others are not passed on. A field of a body that is let through needs
 * its beta: without it, Anthropic refuses the call.
 */
const BETAS: ReadonlySet<string> = new Set([
  'advanced-tool-use-2025-11-20',
  'context-management-2025-06-27',
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

/**
 * The words by which a 400 says that the key is wrong: https://docs.x.ai/docs/key-information/debugging and, of Gemini,
 * https://github.com/continuedev/continue/issues/10290
 */
const REFUSED_KEY = /API_KEY_INVALID|incorrect API key/i

/** A call to forward. */
export type CallToForward = Pick<CallToSend, 'body' | 'signal'> & { readonly api: Api }

/** Sends a call to its provider, and returns the answer with the headers that clients may see. */
export async function forward(
  provider: ProviderInUse,
  { api, body, signal }: CallToForward,
  client: Headers,
): Promise<Response> {
  const { secret = '' } = provider
  const answer = await fetch(addressOf(provider, api), {
    method: 'POST',
    headers: headersFor(provider, api, client),
    body,
    signal,
    // A redirect would take the key to another host.
    redirect: 'manual',
  })
  const headers = copied(answer.headers, PASSED)
  const { status, ok } = answer
  const text = ok ? '' : await textOf(answer)
  if (status !== 401 && !(status === 400 && REFUSED_KEY.test(text))) {
    // Providers quote a key in their errors, each in its own way.
    const told = ok ? answer.body : text.replaceAll(secret, '[redacted]') || null
    return new Response(told, { status, headers })
  }
  // The client's own key is good, and the provider's message shows a part of the operator's.
  console.error(`${provider.id} refuses the key of the gateway.`)
  const message = 'The provider refuses the key of this gateway.'
  headers.delete('content-type')
  headers.set('x-should-retry', 'false')
  return errorAnswer(502, 'upstream_unauthorized', message, Object.fromEntries(headers))
}

/** An error that breaks off is one still: nothing is billed for it. */
const textOf = (answer: Response): Promise<string> => answer.text().catch(() => '')

function addressOf({ baseUrl, apis, query }: ProviderInUse, api: Api): string {
  const own = Array.isArray(apis) ? undefined : (apis as Partial<Record<Api, string>>)[api]
  const parameters = query ? `?${new URLSearchParams(query).toString()}` : ''
  return baseUrl + (own ?? PATHS[api]) + parameters
}

function headersFor(provider: ProviderInUse, api: Api, client: Headers): Headers {
  const isAnthropic = api.startsWith('anthropic')
  const { auth = isAnthropic ? 'x-api-key' : 'bearer', secret = '' } = provider
  const headers = isAnthropic ? anthropicHeaders(client) : copied(client, ['x-client-request-id'])
  headers.set('content-type', 'application/json')
  if (auth === 'bearer') headers.set('authorization', `Bearer ${secret}`)
  else headers.set(auth, secret)
  return headers
}

function anthropicHeaders(client: Headers): Headers {
  const betas = client.get('anthropic-beta')?.split(',') ?? []
  const allowed = betas.map((beta) => beta.trim()).filter((beta) => BETAS.has(beta))
  return new Headers({
    'anthropic-version': client.get('anthropic-version') ?? '2023-06-01',
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
