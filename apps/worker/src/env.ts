import { ConfigError } from '@sluice/core'

/** The variables and secrets of the gateway. `README.md` says how to set them. */
export interface Env {
  /** The Redis that holds keys and counts, over the Upstash REST protocol. Required. */
  readonly UPSTASH_REDIS_REST_URL?: string
  readonly UPSTASH_REDIS_REST_TOKEN?: string
  /** The milliseconds that Redis may take for an answer. @default '1000' */
  readonly STORE_TIMEOUT_MS?: string
  /** The key to call OpenAI, or a compatible API, with. */
  readonly OPENAI_API_KEY?: string
  /** @default 'https://api.openai.com/v1' */
  readonly OPENAI_BASE_URL?: string
  /** The key to call Anthropic with. */
  readonly ANTHROPIC_API_KEY?: string
  /** @default 'https://api.anthropic.com' */
  readonly ANTHROPIC_BASE_URL?: string
  /** The models to offer, separated by commas. @default the list in `models.ts` */
  readonly MODELS?: string
}

/** The address of Redis, as the limiter needs it. */
export interface RedisSettings {
  readonly url: string
  readonly token: string
  readonly timeoutMs: number
}

/** Returns the settings of Redis. Throws a `ConfigError` that names the variable at fault. */
export function redisSettings(env: Env): RedisSettings {
  const url = required(env, 'UPSTASH_REDIS_REST_URL')
  assertUrl('UPSTASH_REDIS_REST_URL', url)
  const timeoutMs = Number(env.STORE_TIMEOUT_MS ?? 1_000)
  if (!Number.isInteger(timeoutMs) || timeoutMs < 1) {
    throw new ConfigError('invalid_option', 'STORE_TIMEOUT_MS', 'must be a whole number from 1')
  }
  return { url, token: required(env, 'UPSTASH_REDIS_REST_TOKEN'), timeoutMs }
}

/** Throws a `ConfigError` that names the variable, unless `url` is an address without credentials. */
export function assertUrl(name: keyof Env, url: string): void {
  if (/^https?:\/\/[^/@]+(\/|$)/.test(url) && URL.canParse(url)) return
  throw new ConfigError('invalid_option', name, 'must be an http(s) URL without credentials')
}

function required(env: Env, name: 'UPSTASH_REDIS_REST_URL' | 'UPSTASH_REDIS_REST_TOKEN'): string {
  const value = env[name]
  if (value) return value
  throw new ConfigError('missing_credentials', name, 'is not set: keys and counts need a Redis')
}
