import type { Subject } from '@sluice/core'
import { refuse, type Refusal } from '@sluice/core/http'
import {
  assertFunction,
  assertKnownOptions,
  assertName,
  assertPositiveInteger,
  invalidOption,
} from '@sluice/core/internal'

/** The part of Cloudflare's rate-limiting binding that is used here. */
export interface RateLimitBinding {
  limit(options: { key: string }): Promise<{ success: boolean }>
}

/** Refuses some requests of a subject, before the limits are checked. */
export type Prefilter<Env> = (subject: Subject, env: Env) => Promise<Refusal | undefined>

/** Options of `limitByBinding`. */
export interface BindingLimitOptions<Env> {
  /** Returns the binding: `(env) => env.FLOOD`. */
  readonly binding: (env: Env) => RateLimitBinding
  /** The `simple.limit` of the binding, which should be a multiple of the exact limit. */
  readonly limit: number
  /** The `simple.period` of the binding, in seconds. */
  readonly period: 10 | 60
  /** Returns the key to count by; `undefined` lets the request pass. @default (subject) => subject.tenant */
  readonly key?: (subject: Subject) => string | undefined
  /** The `scope` in the body of a denial. @default 'tenant'; with a `key` of your own, left out */
  readonly scope?: string
}

/**
 * Creates a pre-filter that uses Cloudflare's own rate-limiting binding. It is free, but counts per
 * location, so use it only to keep floods away from the exact decision. If the binding fails, the
 * request goes on.
 *
 * A denial has `Retry-After`, `RateLimit` and `RateLimit-Policy`, whatever the option `headers` of
 * `rateLimit` is. It does not expose them to scripts of another origin, and does not call `onDenied`.
 *
 * @throws ConfigError When an option is unknown, missing or malformed.
 * @example
 * limitByBinding({ binding: (env) => env.FLOOD, limit: 300, period: 60 })
 */
export function limitByBinding<Env>(options: BindingLimitOptions<Env>): Prefilter<Env> {
  assertKnownOptions('limitByBinding', options, ['binding', 'limit', 'period', 'key', 'scope'])
  const { binding, limit, period, key = tenantOf } = options
  const { scope = key === tenantOf ? 'tenant' : undefined } = options
  assertFunction('limitByBinding.binding', binding)
  assertFunction('limitByBinding.key', key)
  if (scope !== undefined) assertName('limitByBinding.scope', scope)
  assertPositiveInteger('limitByBinding.limit', limit)
  if (period !== 10 && period !== 60) {
    throw invalidOption('limitByBinding.period', 'must be 10 or 60')
  }
  return async (subject, env) => {
    const partition = key(subject)
    const passes = partition === undefined || (await isBelow(binding, env, partition))
    return passes ? undefined : denial(limit, period, scope)
  }
}

const tenantOf = (subject: Subject): string | undefined => subject.tenant

async function isBelow<Env>(
  binding: BindingLimitOptions<Env>['binding'],
  env: Env,
  key: string,
): Promise<boolean> {
  try {
    const { success }: { success?: boolean } = await binding(env).limit({ key })
    return success ?? true
  } catch {
    // If the pre-filter fails, the exact decision still limits the request.
    return true
  }
}

function denial(limit: number, period: 10 | 60, scope: string | undefined): Refusal {
  return refuse({
    status: 429,
    code: 'rate_limit_exceeded',
    message: `Rate limit exceeded: more than ${limit} requests in ${period} s. Retry in ${period} s.`,
    details: {
      policy: 'prefilter',
      scope,
      retryAfter: period,
      resetAt: Math.ceil(Date.now() / 1000) + period,
    },
    headers: {
      'Retry-After': String(period),
      // The OpenAI and Anthropic clients read both. They should not wait for a minute.
      ...(period === 10 ? { 'retry-after-ms': '10000' } : { 'x-should-retry': 'false' }),
      'RateLimit-Policy': `"prefilter";q=${limit};w=${period}`,
      RateLimit: `"prefilter";r=0;t=${period}`,
    },
  })
}
