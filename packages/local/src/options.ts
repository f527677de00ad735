import { randomBytes } from 'node:crypto'
import { LocalError } from './errors.ts'

/** Options of `startLocal`. */
export interface LocalOptions {
  /**
   * The address of a running Redis to use, as `redis://` or `rediss://`. Without it, `engine`
   * decides.
   *
   * @default undefined
   */
  redisUrl?: string
  /**
   * The engine to run without a `redisUrl`. `'redis-server'` starts the one on the PATH, and fails
   * without it; `'embedded'` runs in this process; `'auto'` starts a `redis-server` if there is one,
   * and else runs the embedded engine.
   *
   * @default 'auto'
   */
  engine?: 'auto' | 'redis-server' | 'embedded'
  /** The TCP port to listen on; 0 for a free one. @default 0 */
  port?: number
  /** The address to listen on. @default '127.0.0.1' */
  host?: string
  /**
   * Additional host names and addresses that clients use for this server, such as
   * `['redis.internal']`. A request with any other `Host` header gets 403, because a web page can
   * make its own name point here.
   *
   * @default [] (localhost, 127.0.0.1, [::1] and `host` are always allowed)
   */
  allowedHosts?: string[]
  /** The bearer token that clients must send. @default a random one */
  token?: string
  /**
   * Accepts scripts that begin with `#!lua flags=allow-key-locking`, as Upstash does. With `false`
   * they get the error of a stock Redis.
   *
   * @default true
   */
  scriptFlag?: boolean
}

type ResolvedOptions = Required<Omit<LocalOptions, 'redisUrl'>> & { redisUrl: string | undefined }

/** The values that an option accepts: in words for the error, and as a test. */
interface OptionRule {
  allowed: string
  accepts: (value: unknown) => boolean
}

const PORT_RULE: OptionRule = {
  allowed: 'an integer from 0 to 65535',
  accepts: (value) => Number.isInteger(value) && Number(value) >= 0 && Number(value) <= 65_535,
}

const LOCAL_RULES: Record<keyof LocalOptions, OptionRule> = {
  redisUrl: { allowed: 'a redis:// or rediss:// URL', accepts: isRedisUrl },
  engine: {
    allowed: "'auto', 'redis-server' or 'embedded'",
    accepts: (value) => value === 'auto' || value === 'redis-server' || value === 'embedded',
  },
  port: PORT_RULE,
  host: { allowed: 'a host name or an IP address', accepts: isHost },
  allowedHosts: {
    allowed: 'an array of host names or IP addresses, without ports and brackets',
    accepts: (value) => Array.isArray(value) && value.every(isHost),
  },
  token: {
    allowed: 'a string of visible ASCII characters, without spaces',
    accepts: (value) => typeof value === 'string' && /^[!-~]+$/.test(value),
  },
  scriptFlag: { allowed: 'true or false', accepts: (value) => typeof value === 'boolean' },
}

/**
 * Checks that every option is known and has a value that is allowed.
 *
 * @throws LocalError `ERR_LOCAL_OPTION`.
 */
function assertOptions(options: object, rules: Readonly<Record<string, OptionRule>>): void {
  for (const [name, value] of Object.entries(options)) {
    const rule = Object.hasOwn(rules, name) ? rules[name] : undefined
    if (!rule) {
      const known = Object.keys(rules).join(', ')
      throw new LocalError('ERR_LOCAL_OPTION', `Unknown option "${name}"; expected one of ${known}`)
    }
    // The error leaves the value out: it may be a token or contain a password.
    if (value !== undefined && !rule.accepts(value)) {
      throw new LocalError('ERR_LOCAL_OPTION', `Option "${name}" must be ${rule.allowed}`)
    }
  }
}

export function assertServerOptions(options: object): void {
  assertOptions(options, { port: PORT_RULE })
}

export function resolveOptions(options: LocalOptions): ResolvedOptions {
  assertOptions(options, LOCAL_RULES)
  const { redisUrl, engine = 'auto' } = options
  if (redisUrl !== undefined && engine !== 'auto') {
    throw new LocalError(
      'ERR_LOCAL_OPTION',
      `Option "engine" must be 'auto' or left out with "redisUrl": that Redis is the engine`,
    )
  }
  return {
    redisUrl,
    engine,
    port: options.port ?? 0,
    host: options.host ?? '127.0.0.1',
    allowedHosts: options.allowedHosts ?? [],
    token: options.token ?? randomBytes(24).toString('base64url'),
    scriptFlag: options.scriptFlag ?? true,
  }
}

function isHost(value: unknown): boolean {
  return typeof value === 'string' && /^[\w.:-]+$/.test(value)
}

function isRedisUrl(value: unknown): boolean {
  return typeof value === 'string' && /^rediss?:\/\/./.test(value) && URL.canParse(value)
}
