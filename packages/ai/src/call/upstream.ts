import { ConfigError } from '@sluice/core'
import { assertKnownOptions, assertOneOf, invalidOption } from '@sluice/core/internal'
import { API_NAMES, apiOfPath, isAnthropic, type ModelApi } from './api.ts'

/** The address of a provider, and the key to call it with. */
export interface Upstream {
  /** The whole address, such as `https://api.openai.com/v1/chat/completions`. It decides the format of calls. */
  readonly url: string
  /** The key, needed at the first call. */
  readonly key: string
}

/** Returns the URL of a provider. @throws ConfigError */
export function addressOf(send: Upstream): URL {
  assertKnownOptions('modelHandler.send', send, ['url', 'key'])
  const { url } = send
  // A `fetch` that refuses credentials in an address quotes them.
  if (URL.canParse(url) && /^https?:\/\/[^/@]+(\/|$)/.test(url)) return new URL(url)
  throw invalidOption('modelHandler.send.url', 'must be an http(s) URL without credentials')
}

/**
 * Returns the format of a handler's calls: that of the provider's address, or else the option `api`. A
 * client never decides it, because a call is charged by it.
 *
 * @throws ConfigError When neither names it, or both do and differ.
 */
export function apiOfHandler(api: ModelApi | undefined, address: URL | undefined): ModelApi {
  const pathApi = address && apiOfPath(address.pathname)
  return assertOneOf('modelHandler.api', api ?? pathApi, pathApi ? [pathApi] : API_NAMES)
}

/**
 * Throws unless there is a key to send. Called at each call: a build has no secrets.
 *
 * @throws ConfigError `missing_credentials`. Without it, an invalid header would quote the key.
 */
export function assertKey({ key }: Upstream): void {
  if (typeof key === 'string' && /^[!-~]+$/.test(key.trim())) return
  const message = 'must be the key of the provider'
  throw new ConfigError('missing_credentials', 'modelHandler.send.key', message)
}

/** The parts of a call that a provider gets. */
interface UpstreamCall {
  readonly api: ModelApi
  readonly body: string
  readonly signal: AbortSignal
}

/** Sends a body to a provider. */
export function callUpstream(
  url: string | URL,
  { key }: Upstream,
  { api, body, signal }: UpstreamCall,
): Promise<Response> {
  const headers: Record<string, string> = { 'content-type': 'application/json' }
  if (isAnthropic(api)) {
    headers['x-api-key'] = key.trim()
    headers['anthropic-version'] = '2023-06-01'
  } else headers['authorization'] = `Bearer ${key.trim()}`
  // A redirect would take the key to another host.
  return fetch(String(url), { method: 'POST', headers, body, signal, redirect: 'manual' })
}
