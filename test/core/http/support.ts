import {
  createLimiter,
  fixedWindow,
  manualClock,
  type Decision,
  type DeniedDecision,
  type Limiter,
  type Policy,
  type PolicyState,
} from '@sluice/core'
import { memory } from '@sluice/core/memory'
import { rateLimit, type AdapterOptions } from '@sluice/core/http'
import { urlOf } from '../../support/spellings.ts'

/** Midnight: a border of every fixed window. */
export const START = Date.UTC(2026, 0, 1)

/** A limiter in memory, and the clock that it goes by. */
export function limiterWith(...policies: Policy[]) {
  const clock = manualClock(START)
  return { clock, limiter: createLimiter({ store: memory(), clock, policies }) }
}

/** A limiter that allows so many requests a minute to each tenant. */
export function perMinute(limit: number): Limiter {
  const policy = fixedWindow({ name: 'rpm', limit, window: '1m', per: ['tenant'] })
  return limiterWith(policy).limiter
}

/** The subject of a request: the tenant in its header `x-tenant`. */
export function subject(request: Request) {
  const tenant = request.headers.get('x-tenant')
  return tenant === null ? null : { tenant }
}

/** A handler behind the limiter, and a way to ask it. */
export function app(
  limiter: Limiter,
  options: Partial<AdapterOptions> = {},
  handle: (request: Request) => Response | Promise<Response> = () => new Response('answer'),
) {
  const fetch = rateLimit(limiter, { routes: ['/api/ai/**'], subject, ...options }, handle)
  return (headers: Record<string, string> = {}, init: RequestInit = {}, path = '/api/ai/chat') =>
    fetch(
      new Request(urlOf(path), {
        ...init,
        headers: { 'x-tenant': 'acme', ...headers },
      }),
    )
}

/** The state of a policy, with defaults for what a test does not care about. */
export function state(fields: Partial<PolicyState> & { name: string }): PolicyState {
  return {
    scope: 'tenant',
    unit: 'request',
    limit: 100,
    burst: fields.limit ?? 100,
    remaining: 0,
    cost: 1,
    windowMs: 60_000,
    resetMs: 30_000,
    fits: true,
    charged: true,
    enforced: true,
    delayMs: 0,
    retryAfterMs: 0,
    reason: 'rate_limit_exceeded',
    ...fields,
  }
}

/** A decision that allows, with these policies. */
export function allowed(...policies: PolicyState[]): Decision {
  const none = { reason: undefined, violated: undefined, ...NOTHING_ELSE }
  return { allowed: true, retryAfterMs: 0, delayMs: 0, policies, at: START, ...none }
}

/** A denial by the first of these policies. */
export function denied(violated: PolicyState, ...others: PolicyState[]): DeniedDecision {
  const { reason, retryAfterMs } = violated
  const policies = [violated, ...others]
  const none = { delayMs: 0, ...NOTHING_ELSE } as const
  return { allowed: false, reason, violated, retryAfterMs, policies, at: START, ...none }
}

const NOTHING_ELSE = {
  source: 'store',
  skipped: [],
  plan: undefined,
  planSource: undefined,
  degraded: undefined,
} as const

/** A limiter that allows everything and asks for this delay. */
export function delaying(delayMs: number): Limiter {
  const decision = async () => ({ ...allowed(state({ name: 'rpm', delayMs })), delayMs }) as never
  return { ...perMinute(1), check: decision, peek: decision }
}

const down = () => Promise.reject(new Error('down'))

/** The denial of a limiter whose store is down and which denies in that case. */
export async function outage(): Promise<DeniedDecision> {
  const decision = await createLimiter({
    store: { check: down, run: down, reset: down },
    policies: [fixedWindow({ name: 'rpm', limit: 1, window: '1m', per: ['tenant'] })],
    onStoreError: 'deny',
  }).check({ tenant: 'acme' })
  if (decision.allowed) throw new Error('It should have denied')
  return decision
}
