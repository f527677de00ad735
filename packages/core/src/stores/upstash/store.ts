import type { Algorithm } from '../../algorithm.ts'
import type { Store } from '../../store.ts'
import { ConfigError, StoreError } from '../../errors.ts'
import { knownOptions, plainName, positiveInteger } from '../../validate.ts'
import { assembleScript, readReply, scriptArguments, scriptKeys, type Script } from './script.ts'
import { settleArguments, settleScript } from './settle-script.ts'
import {
  clientTransport,
  NOT_AN_ANSWER,
  RedisError,
  restTransport,
  type Command,
  type Fetch,
  type Transport,
} from './transport.ts'
import { writeArguments, writeScript } from './write-script.ts'

/** Options of `upstash`. */
export interface UpstashOptions {
  /** The database's REST address. @default the environment variable UPSTASH_REDIS_REST_URL */
  readonly url?: string
  /** The database's REST token. @default the environment variable UPSTASH_REDIS_REST_TOKEN */
  readonly token?: string
  /** An `@upstash/redis` client to send through, instead of `url` and `token`. */
  readonly redis?: object
  /**
   * How long one decision may take, in milliseconds; then the request is aborted and the limiter's
   * `onStoreError` applies. The first one from an isolate includes a TLS handshake. @default 1_000
   */
  readonly timeoutMs?: number
  /** What every key starts with. @default 'sluice' */
  readonly prefix?: string
  /** What to send with. @default the global `fetch` */
  readonly fetch?: Fetch
}

declare const process: { readonly env?: Record<string, string | undefined> } | undefined

/**
 * A store in Redis, over the Upstash REST protocol: one HTTP request per decision, whatever the
 * number of policies. Creating it does no I/O.
 *
 * @throws ConfigError `missing_credentials` when there is no address or token, `invalid_option` when
 * one is malformed.
 * @example
 * const store = upstash() // UPSTASH_REDIS_REST_URL and UPSTASH_REDIS_REST_TOKEN
 * @example
 * const store = upstash({ url: env.REDIS_URL, token: env.REDIS_TOKEN, timeoutMs: 500 })
 */
export function upstash(options: UpstashOptions = {}): Store {
  knownOptions('upstash', options, ['url', 'token', 'redis', 'timeoutMs', 'prefix', 'fetch'])
  const timeoutMs = positiveInteger('upstash.timeoutMs', options.timeoutMs ?? 1_000, 60_000)
  const prefix = plainName('upstash.prefix', options.prefix ?? 'sluice')
  const transport = chooseTransport(options)
  // Plain data only: a promise made for one request must not be awaited by another on Cloudflare.
  const scripts = new Map<string, Script>()
  let writing: Script | undefined
  let locking = true

  async function scriptFor(
    assemble: (algorithms: Iterable<Algorithm>) => Promise<Script>,
    entries: readonly { readonly algorithm: Algorithm }[],
  ): Promise<Script> {
    const byId = new Map(entries.map(({ algorithm }) => [algorithm.id, algorithm]))
    const ids = [...byId.keys()].toSorted()
    const key = [assemble === settleScript ? 'settle' : 'decide', ...ids].join()
    const algorithms = ids.map((id) => byId.get(id) as Algorithm)
    const script = scripts.get(key) ?? (await assemble(algorithms))
    scripts.set(key, script)
    return script
  }

  async function run(script: Script, rest: Command, signal: AbortSignal): Promise<unknown> {
    // Another call may learn meanwhile that the flag is refused.
    const flagged = locking
    const { sha1, text } = flagged ? script.locking : script.plain
    try {
      return await transport.send(['EVALSHA', sha1, ...rest], signal)
    } catch (error) {
      // Only this error proves that nothing was run.
      if (!(error instanceof RedisError) || !error.message.startsWith('NOSCRIPT')) throw error
    }
    try {
      return await transport.send(['EVAL', text, ...rest], signal)
    } catch (error) {
      // Redis 7 refuses the flag; older ones do not know a first line like it.
      const refused = error instanceof RedisError && /shebang|near '#'/i.test(error.message)
      if (!flagged || !refused) throw error
      locking = false
      return transport.send(['EVAL', script.plain.text, ...rest], signal)
    }
  }

  /** Runs a script on keys under one deadline. */
  function call(
    script: Script,
    keys: readonly string[],
    args: readonly string[],
  ): Promise<unknown> {
    const rest = [keys.length, ...keys.map((key) => `${prefix}:${key}`), ...args]
    return withDeadline(timeoutMs, (signal) => run(script, rest, signal))
  }

  return {
    async check(request) {
      const script = await scriptFor(assembleScript, request.entries)
      const args = scriptArguments(request)
      return readReply(await call(script, scriptKeys(request), args), request)
    },

    async settle(request) {
      const { hold, settlements } = request
      const script = await scriptFor(settleScript, settlements)
      const keys = [hold, ...settlements.map(({ key }) => key)]
      return doneBy(await call(script, keys, settleArguments(request)))
    },

    async write(writes, condition) {
      writing ??= await writeScript()
      const { keys, args } = writeArguments(writes, condition)
      return doneBy(await call(writing, keys, args))
    },

    async reset(keys) {
      const command = ['DEL', ...keys.map((key) => `${prefix}:${key}`)]
      const deleted = await withDeadline(timeoutMs, (signal) => transport.send(command, signal))
      if (!Number.isInteger(deleted)) throw new StoreError('store_bad_reply', NOT_AN_ANSWER)
    },
  }
}

/** Whether a script did what it was to do. @throws StoreError Unless it says so in its way. */
function doneBy(reply: unknown): boolean {
  if (reply === 1 || reply === 0) return reply === 1
  throw new StoreError('store_bad_reply', NOT_AN_ANSWER)
}

function chooseTransport(options: UpstashOptions): Transport {
  if (options.redis !== undefined) {
    for (const other of ['url', 'token', 'fetch'] as const) {
      if (options[other] === undefined) continue
      throw new ConfigError('invalid_option', `upstash.${other}`, 'has no use beside redis')
    }
    return clientTransport(options.redis)
  }
  const env = typeof process === 'undefined' ? undefined : process.env
  const url = options.url ?? env?.['UPSTASH_REDIS_REST_URL']
  const token = options.token ?? env?.['UPSTASH_REDIS_REST_TOKEN']
  if (options.fetch !== undefined && typeof options.fetch !== 'function') {
    throw new ConfigError('invalid_option', 'upstash.fetch', 'must be a function like fetch')
  }
  // Looked up at each call, because tests and instrumentation replace it.
  const send: Fetch = options.fetch ?? ((target, init) => fetch(target, init))
  return restTransport(validUrl(url), validToken(token), send)
}

function validUrl(url: unknown): string {
  if (url === undefined || url === '') {
    throw new ConfigError(
      'missing_credentials',
      'upstash.url',
      'is missing; pass it or set UPSTASH_REDIS_REST_URL',
    )
  }
  const parsed = typeof url === 'string' && URL.canParse(url) ? new URL(url) : undefined
  if (parsed && /^https?:$/.test(parsed.protocol) && !parsed.username && !parsed.password) {
    return parsed.href
  }
  throw new ConfigError(
    'invalid_option',
    'upstash.url',
    'must be an http(s) URL without a user or password',
  )
}

function validToken(token: unknown): string {
  if (token === undefined || token === '') {
    throw new ConfigError(
      'missing_credentials',
      'upstash.token',
      'is missing; pass it or set UPSTASH_REDIS_REST_TOKEN',
    )
  }
  if (typeof token === 'string' && /^[\x21-\x7e]+$/.test(token)) return token
  throw new ConfigError('invalid_option', 'upstash.token', 'must be printable ASCII without spaces')
}

/** Runs one call under one deadline, and aborts it then. */
async function withDeadline<T>(
  timeoutMs: number,
  call: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const controller = new AbortController()
  let timer: ReturnType<typeof setTimeout> | undefined
  // The race bounds the wait even where a custom `fetch` ignores its signal.
  const deadline = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      reject(new StoreError('store_timeout', `The store did not answer within ${timeoutMs} ms`))
      controller.abort()
    }, timeoutMs)
  })
  try {
    return await Promise.race([call(controller.signal), deadline])
  } catch (error) {
    if (!(error instanceof RedisError)) throw error
    // Of Redis' own text only the code word is passed on: the rest may quote keys and arguments.
    const word = /^[A-Z]{2,}/.exec(error.message)?.[0] ?? 'an error'
    throw new StoreError('store_refused', `The store refused the command: ${word}`)
  } finally {
    clearTimeout(timer)
  }
}
