import type { Subject } from '@sluice/core'
import { ConfigError } from '@sluice/core'
import { refuse, type Refusal } from '@sluice/core/http'
import { assertFunction, assertKnownOptions } from '@sluice/core/validation'

/** Cloudflare's rate-limiting binding, as far as it is used here. */
export interface RateLimitBinding {
  limit(options: { key: string }): Promise<{ success: boolean }>
}

/** Refuses some of the requests of somebody, before the limiter is asked. */
export type Prefilter<Env> = (subject: Subject, env: Env) => Promise<Refusal | undefined>

/** Options of `limitByBinding`. */
export interface BindingLimitOptions<Env> {
  /** The binding: `(env) => env.FLOOD`. */
  readonly binding: (env: Env) => RateLimitBinding
  /** What the binding's `simple.limit` is. Give it a multiple of the exact limit. */
  readonly limit: number
  /** What the binding's `simple.period` is, in seconds. */
  readonly period: 10 | 60
  /** Whose requests are counted together. @default (subject) => subject.tenant */
  readonly key?: (subject: Subject) => string | undefined
}

/**
 * A pre-filter that asks Cloudflare's own rate-limiting binding: free, and counted per location, so it
 * only keeps floods away from the exact decision. Where it fails, requests go on.
 *
 * @throws ConfigError When an option is unknown, missing or malformed.
 * @example
 * limitByBinding({ binding: (env) => env.FLOOD, limit: 300, period: 60 })
 */
export function limitByBinding<Env>(options: BindingLimitOptions<Env>): Prefilter<Env> {
  assertKnownOptions('limitByBinding', options, ['binding', 'limit', 'period', 'key'])
  const { binding, limit, period, key = (subject: Subject) => subject.tenant } = options
  assertFunction('limitByBinding.binding', binding)
  assertFunction('limitByBinding.key', key)
  if (!Number.isInteger(limit) || limit < 1) {
    throw new ConfigError('invalid_option', 'limitByBinding.limit', 'must be a whole number from 1')
  }
  if (period !== 10 && period !== 60) {
    throw new ConfigError('invalid_option', 'limitByBinding.period', 'must be 10 or 60')
  }
  return async (subject, env) => {
    const partition = key(subject)
    const passes = partition === undefined || (await isBelow(binding, env, partition))
    return passes ? undefined : denial(limit, period)
  }
}

async function isBelow<Env>(
  binding: BindingLimitOptions<Env>['binding'],
  env: Env,
  key: string,
): Promise<boolean> {
  try {
    const { success }: { success?: boolean } = await binding(env).limit({ key })
    return success ?? true
  } catch {
    // It is an optimisation: where it fails, the exact decision is still to come.
    return true
  }
}

function denial(limit: number, period: 10 | 60): Refusal {
  return refuse({
    status: 429,
    code: 'rate_limit_exceeded',
    message: `Rate limit exceeded: more than ${limit} requests in ${period} s. Retry in ${period} s.`,
    details: {
      policy: 'prefilter',
      scope: 'tenant',
      retryAfter: period,
      resetAt: Math.ceil(Date.now() / 1000) + period,
    },
    headers: {
      'Retry-After': String(period),
      // The OpenAI and Anthropic clients read both; a wait of a minute is not for them.
      ...(period === 10 ? { 'retry-after-ms': '10000' } : { 'x-should-retry': 'false' }),
      'RateLimit-Policy': `"prefilter";q=${limit};w=${period}`,
      RateLimit: `"prefilter";r=0;t=${period}`,
    },
  })
}
