import { StoreError } from '@sluice/core'
import { assertKnownOptions, invalidOption } from '@sluice/core/internal'
import { decode, kindsOf, type Answer } from '@sluice/core/internal/journal'
import type { LimitsNamespace } from '../durable-object/durable-objects.ts'
import { FAULT_STATUS, MIN_TOKEN_LENGTH, type ObjectCall } from './call.ts'
import { parseJson } from '@sluice/core/internal/limiter'

/** Options of `remoteObjects`. */
export interface RemoteObjectsOptions {
  /** The address of the Worker's `operatorHandler`: `https`, or `http` for this machine. */
  readonly url: string
  /** The token of the handler. */
  readonly token: string
}

const LOCAL = new Set(['localhost', '127.0.0.1', '[::1]'])

/**
 * Creates a binding of Durable Objects that are reached from outside Cloudflare, by the `operatorHandler` of their
 * Worker: for scripts and the `sluice` command. A request of your users should not take this way: it is one more trip.
 *
 * @throws ConfigError When the address is none, or not `https`, or the token is missing or short.
 * @example
 * const store = durableObjects(remoteObjects({ url: 'https://…/sluice', token }))
 * const limiter = createLimiter({ store, policies })
 */
export function remoteObjects(options: RemoteObjectsOptions): LimitsNamespace {
  assertKnownOptions('remoteObjects', options, ['url', 'token'])
  const url = addressOf(options.url)
  const { token } = options
  if (typeof token !== 'string' || token.length < MIN_TOKEN_LENGTH) {
    const rule = `must be the token of the operatorHandler, of ${MIN_TOKEN_LENGTH} characters or more`
    throw invalidOption('remoteObjects.token', rule)
  }
  const kinds = kindsOf()

  async function send(call: ObjectCall): Promise<Answer> {
    const response = await fetch(url, {
      method: 'POST',
      headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
      body: JSON.stringify(call),
      // The token is for this address alone.
      redirect: 'manual',
    })
    const text = await response.text()
    const data = parse(text)
    if (response.status === FAULT_STATUS && data) throw Object.assign(new Error(), data)
    if (response.status === 401) {
      throw new StoreError('store_unauthorized', 'The operatorHandler refuses this token')
    }
    if (!response.ok || !data) {
      const what = `There is no operatorHandler of this version at ${url.origin}${url.pathname}: it answers ${response.status}`
      throw new StoreError('store_bad_reply', what, response.status)
    }
    return withUndefined(decode(text, kinds) as Answer)
  }

  return {
    idFromName: (name) => name as unknown as DurableObjectId,
    get: (id, { locationHint } = {}) => ({
      sluice: (message) =>
        send({
          name: id as unknown as string,
          message,
          ...(locationHint !== undefined && { locationHint }),
        }),
    }),
  }
}

function addressOf(text: unknown): URL {
  const url = typeof text === 'string' && URL.canParse(text) ? new URL(text) : undefined
  if (url?.username || url?.password) {
    const rule = 'must have no user and password: the token is what it sends'
    throw invalidOption('remoteObjects.url', rule)
  }
  if (url?.protocol === 'https:') return url
  if (url?.protocol === 'http:' && LOCAL.has(url.hostname)) return url
  const rule = 'must be the https address of an operatorHandler; http is for this machine alone'
  throw invalidOption('remoteObjects.url', rule)
}

function parse(text: string): object | undefined {
  const data = parseJson(text)
  return typeof data === 'object' && data !== null ? data : undefined
}

/** JSON has no undefined, which objects answer in place of a value. */
function withUndefined(answer: Answer): Answer {
  if (!('reply' in answer)) return answer
  const { values } = answer.reply
  return { reply: { ...answer.reply, values: values.map((value) => value ?? undefined) } }
}
