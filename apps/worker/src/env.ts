import type { LimitsNamespace } from '@sluice/cloudflare/operator'
import { ConfigError } from '@sluice/core'

/** `'first'` remembers a store if none is known, `'always'` in place of another. */
export type StoreChange = 'never' | 'first' | 'always'

/** The memory of the object `home`. */
export interface StoreMemory {
  /** Returns the store in which this deployment has counted, or `undefined` if it has not. */
  countedIn(store: string, change: StoreChange): Promise<string | undefined>
}

/** The binding of the class in `objects.ts`. */
export interface GatewayObjects extends LimitsNamespace {
  get(
    ...object: Parameters<LimitsNamespace['get']>
  ): ReturnType<LimitsNamespace['get']> & StoreMemory
}

/**
 * The variables and secrets of the gateway, beside the keys and addresses that `providers.ts` names. `README.md` says
 * how to set them.
 */
export interface Env {
  /** The Durable Objects that hold keys and counts. `wrangler.jsonc` binds them. */
  readonly LIMITS?: GatewayObjects
  /** The secret with which the command `sluice` reaches the objects, at `/sluice`. @default none: it cannot */
  readonly SLUICE_OBJECTS_TOKEN?: string
  /** A Redis that holds keys and counts instead, over the Upstash REST protocol. */
  readonly UPSTASH_REDIS_REST_URL?: string
  readonly UPSTASH_REDIS_REST_TOKEN?: string
  /** The store that counts, after a change: `objects`, or the host of the Redis. @default the one that has counted */
  readonly STORE?: string
  /** The milliseconds that the store may take for an answer. @default '1000' */
  readonly STORE_TIMEOUT_MS?: string
  /** The secret of the operator's addresses below `/admin`, of 32 characters or more. @default none: they do not exist */
  readonly ADMIN_KEY?: string
  /** The names of tenants in usage: `plain` or `hashed`. @default 'plain' */
  readonly TENANT_IDS?: string
  /** The models to offer, separated by commas. @default all that have a price at a provider that is on */
  readonly MODELS?: string
  /** The seconds in which a provider must begin to answer. @default '600' */
  readonly ANSWER_TIMEOUT_SECONDS?: string
  /** The seconds for which an answer may pause. @default '300' */
  readonly IDLE_TIMEOUT_SECONDS?: string
  /** The charge of a call without an answer: `keep` its estimate, or `release` it. @default 'keep' */
  readonly UNANSWERED?: string
  /** The charge of an answer that breaks off: `keep` the estimate, or what was `counted` as it passed. @default 'keep' */
  readonly INCOMPLETE?: string
  /** The seconds for which a tenant's calls to a provider that does not answer are refused. @default '30' */
  readonly PAUSE_SECONDS?: string
  /** The largest body of a call, in bytes. @default '4000000' */
  readonly MAX_BODY_BYTES?: string
  /** A line for each call in the log: `on` or `off`. @default 'on' */
  readonly LOG_CALLS?: string
}

/** Throws a `ConfigError` that names the variable, unless `url` is an address without credentials. */
export function assertUrl(name: keyof Env, url: string): void {
  if (/^https?:\/\/[^/@]+(\/|$)/.test(url) && URL.canParse(url)) return
  throw new ConfigError('invalid_option', name, 'must be an http(s) URL without credentials')
}
