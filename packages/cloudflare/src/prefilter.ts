import type { DeniedDecision, Limiter, PolicyState, Subject } from '@sluice/core'
import type { LimiterFor } from './worker.ts'
import { ConfigError } from '@sluice/core'
import { aFunction, knownOptions } from '@sluice/core/http'

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

/** A limiter that asks the binding first, and denies what the binding denies at no cost. */
export function prefiltered<Env>(
  limiterFor: LimiterFor<Env>,
  options: PrefilterOptions<Env>,
): LimiterFor<Env> {
  knownOptions('prefilter', options, ['binding', 'limit', 'period', 'key'])
  const { binding, limit, period, key = (subject: Subject) => subject.tenant } = options
  aFunction('limiterFor', limiterFor)
  aFunction('prefilter.binding', binding)
  aFunction('prefilter.key', key)
  if (!Number.isInteger(limit) || limit < 1) {
    throw new ConfigError('invalid_option', 'prefilter.limit', 'must be a whole number from 1')
  }
  if (period !== 10 && period !== 60) {
    throw new ConfigError('invalid_option', 'prefilter.period', 'must be 10 or 60')
  }
  return (env): Limiter => {
    const limiter = limiterFor(env)
    return {
      ...limiter,
      async check(subject, checkOptions) {
        const partition = key(subject)
        const passes = partition === undefined || (await asks(binding, env, partition))
        return passes ? limiter.check(subject, checkOptions) : denied(options)
      },
    }
  }
}

async function asks<Env>(
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

function denied<Env>({ limit, period }: PrefilterOptions<Env>): DeniedDecision {
  const waitMs = period * 1_000
  const violated: PolicyState = {
    name: 'prefilter',
    scope: 'tenant',
    unit: 'request',
    limit,
    burst: limit,
    remaining: 0,
    cost: 1,
    windowMs: waitMs,
    resetMs: waitMs,
    fits: false,
    charged: false,
    enforced: true,
    delayMs: 0,
    retryAfterMs: waitMs,
    reason: 'rate_limit_exceeded',
  }
  return {
    allowed: false,
    reason: violated.reason,
    violated,
    retryAfterMs: waitMs,
    delayMs: 0,
    policies: [violated],
    skipped: [],
    at: Date.now(),
    source: 'cache',
    plan: undefined,
    planSource: undefined,
    degraded: undefined,
  }
}
