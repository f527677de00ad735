import type { Subject } from '@sluice/core'
import { ConfigError } from '@sluice/core'
import { aFunction, knownOptions, refuse, type Refusal } from '@sluice/core/http'

/** Cloudflare's rate-limiting binding, as far as it is used here. */
export interface RateLimitBinding {
  limit(options: { key: string }): Promise<{ success: boolean }>
}

/** Options of `prefilter`. */
export interface PrefilterOptions<Env> {
  /** The binding: `(env) => env.FLOOD`. */
  readonly binding: (env: Env) => RateLimitBinding
  /** What the binding's `simple.limit` is. Give it a multiple of the exact limit. */
  readonly limit: number
  /** What the binding's `simple.period` is, in seconds. */
  readonly period: 10 | 60
  /** Whose requests are counted together. @default (subject) => subject.tenant */
  readonly key?: (subject: Subject) => string | undefined
}

/** A step that asks the binding before the limiter is asked, and refuses what the binding denies. */
export function prefilterStep<Env>(
  options: PrefilterOptions<Env>,
): (subject: Subject, env: Env) => Promise<Refusal | undefined> {
  knownOptions('prefilter', options, ['binding', 'limit', 'period', 'key'])
  const { binding, limit, period, key = (subject: Subject) => subject.tenant } = options
  aFunction('prefilter.binding', binding)
  aFunction('prefilter.key', key)
  if (!Number.isInteger(limit) || limit < 1) {
    throw new ConfigError('invalid_option', 'prefilter.limit', 'must be a whole number from 1')
  }
  if (period !== 10 && period !== 60) {
    throw new ConfigError('invalid_option', 'prefilter.period', 'must be 10 or 60')
  }
  return async (subject, env) => {
    const partition = key(subject)
    const passes = partition === undefined || (await isBelow(binding, env, partition))
    return passes ? undefined : denial(limit, period)
  }
}

async function isBelow<Env>(
  binding: PrefilterOptions<Env>['binding'],
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
