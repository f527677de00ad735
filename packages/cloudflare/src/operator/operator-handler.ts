import { assertKnownOptions, invalidOption } from '@sluice/core/internal'
import { hasBearer } from '@sluice/core/internal/http'
import { encode } from '@sluice/core/internal/journal'
import type { LimitsNamespace } from '../durable-object/durable-objects.ts'
import { FAULT_STATUS, MIN_TOKEN_LENGTH, type ObjectCall, type ObjectFault } from './call.ts'
import { parseJson } from '@sluice/core/internal/limiter'

/** Options of `operatorHandler`. */
export interface OperatorOptions {
  /**
   * The secret that the `sluice` command sends, of 32 characters or more. Its holder may read and change every count
   * and setting.
   */
  readonly token: string
}

/**
 * Creates a handler by which the `sluice` command reaches the Durable Objects of a Worker: mount it at a path of its
 * own. It answers `POST` with the token, and refuses all else.
 *
 * @param namespace The binding of the class `LimitsObject`, such as `env.LIMITS`.
 * @throws ConfigError When the binding is missing, or the token is missing or short.
 * @example
 * import { env } from 'cloudflare:workers'
 *
 * const operator = operatorHandler(env.LIMITS, { token: env.SLUICE_OBJECTS_TOKEN })
 *
 * export default {
 *   fetch: (request) => (new URL(request.url).pathname === '/sluice' ? operator(request) : app(request)),
 * }
 */
export function operatorHandler(
  namespace: LimitsNamespace,
  options: OperatorOptions,
): (request: Request) => Promise<Response> {
  if (typeof (namespace as Partial<LimitsNamespace> | undefined)?.idFromName !== 'function') {
    const rule = 'must be the binding of a Durable Object, such as env.LIMITS'
    throw invalidOption('operatorHandler.namespace', rule, namespace)
  }
  assertKnownOptions('operatorHandler', options, ['token'])
  const { token } = options
  if (typeof token !== 'string' || token.length < MIN_TOKEN_LENGTH) {
    const rule = `must be a secret of ${MIN_TOKEN_LENGTH} characters or more: npx wrangler secret put SLUICE_OBJECTS_TOKEN`
    // Without the value: it may be a secret.
    throw invalidOption('operatorHandler.token', rule)
  }
  return async (request) => {
    if (request.method !== 'POST') return refuse(405, 'Send POST.', { Allow: 'POST' })
    if (!(await hasBearer(request, token))) {
      return refuse(401, 'Send the token of this handler.', { 'WWW-Authenticate': 'Bearer' })
    }
    const call = parse(await request.text())
    if (!call) return refuse(400, 'Send calls as remoteObjects of the same version does.')
    const { name, locationHint, message } = call
    try {
      const object = namespace.get(
        namespace.idFromName(name),
        locationHint === undefined ? {} : { locationHint },
      )
      return answer(encode(await object.sluice(message)))
    } catch (error) {
      return answer(JSON.stringify(faultOf(error)), FAULT_STATUS)
    }
  }
}

function parse(text: string): ObjectCall | undefined {
  const call = parseJson(text) as ObjectCall | null | undefined
  const isCall = typeof call?.name === 'string' && typeof call.message === 'string'
  return isCall ? call : undefined
}

function faultOf(error: unknown): ObjectFault {
  const { message, overloaded, durableObjectReset } = (error ?? {}) as Partial<ObjectFault>
  return {
    message: String(message),
    ...(overloaded === true && { overloaded }),
    ...(durableObjectReset === true && { durableObjectReset }),
  }
}

const answer = (text: string, status = 200): Response =>
  new Response(text, {
    status,
    headers: { 'Content-Type': 'application/json', 'Cache-Control': 'no-store' },
  })

const refuse = (status: number, message: string, headers: Record<string, string> = {}): Response =>
  Response.json({ message }, { status, headers: { ...headers, 'Cache-Control': 'no-store' } })
