import { ConfigError } from '@sluice/core'
import { assertKnownOptions } from '@sluice/core/validation'
import { API_NAMES, apiOfPath, isAnthropic, type ModelApi } from './api.ts'

/** The address of a provider, and the key to call it with. */
export interface Upstream {
  /** The whole address, such as `https://api.openai.com/v1/chat/completions`. It decides the format of calls. */
  readonly url: string
  /** The key, needed at the first call. */
  readonly key: string
}

/**
 * Returns the format of a handler's calls: that of the provider's address, or else the option `api`. A
 * client never decides it, because a call is charged by it.
 *
 * @throws ConfigError When neither tells it, or both do and differ.
 */
export function apiOfHandler(api: ModelApi | undefined, send: unknown): ModelApi {
  const isFunction = typeof send === 'function'
  const spoken = isFunction ? undefined : apiOfPath(addressOf(send as Upstream).pathname)
  const allowed = spoken ? [spoken] : API_NAMES
  const name = api ?? spoken
  if (name !== undefined && allowed.includes(name)) return name
  const why = isFunction ? 'a function hides the address' : 'the address does not tell it'
  const message = spoken
    ? `must be "${spoken}", the format of the address, or be left out`
    : `must be one of "${allowed.join('", "')}": ${why}`
  throw new ConfigError('invalid_option', 'modelHandler.api', message, api)
}

function addressOf(upstream: Upstream): URL {
  assertKnownOptions('modelHandler.send', upstream, ['url', 'key'])
  const { url } = upstream
  if (typeof url === 'string' && /^https?:\/\/[^/@]+(\/|$)/.test(url) && URL.canParse(url)) {
    return new URL(url)
  }
  const message = 'must be an http(s) URL without credentials'
  throw new ConfigError('invalid_option', 'modelHandler.send.url', message)
}

/** Sends a body to a provider. */
export function callUpstream(
  { url, key }: Upstream,
  api: ModelApi,
  body: string,
  signal: AbortSignal,
): Promise<Response> {
  const headers: Record<string, string> = { 'content-type': 'application/json' }
  if (isAnthropic(api)) {
    headers['x-api-key'] = key
    headers['anthropic-version'] = '2023-06-01'
  } else headers['authorization'] = `Bearer ${key}`
  return fetch(url, { method: 'POST', headers, body, signal })
}
