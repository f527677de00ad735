import { randomBytes } from 'node:crypto'
import { LocalError } from './errors.ts'

/** Options of `startLocal`. */
export interface LocalOptions {
  /**
   * A running Redis to put behind the server, as `redis://` or `rediss://`. Without one, `engine`
   * decides.
   *
   * @default undefined
   */
  redisUrl?: string
  /**
   * What to run when no `redisUrl` is given: `'redis-server'` starts one of its own and fails
   * without one on the PATH, `'embedded'` runs in this process, `'auto'` is the first where it can
   * be had and the second otherwise.
   *
   * @default 'auto'
   */
  engine?: 'auto' | 'redis-server' | 'embedded'
  /**
   * The TCP port to listen on; 0 takes a free one.
   *
   * @default 0
   */
  port?: number
  /**
   * The address to listen on.
   *
   * @default '127.0.0.1'
   */
  host?: string
  /**
   * Further names and addresses that clients call this server by, as in `['redis.internal']`. Any
   * other `Host` header is answered with 403, because a web page can make up names of its own.
   *
   * @default [] (localhost, 127.0.0.1, [::1] and `host` are always allowed)
   */
  allowedHosts?: string[]
  /**
   * The bearer token callers must send.
   *
   * @default a random one
   */
  token?: string
  /**
   * Accept scripts that begin with `#!lua flags=allow-key-locking`, as Upstash does; `false` shows
   * what a stock Redis says to them.
   *
   * @default true
   */
  scriptFlag?: boolean
}

type Resolved = Required<Omit<LocalOptions, 'redisUrl'>> & { redisUrl: string | undefined }

/** What an option may be. */
interface Check {
  allowed: string
  test: (value: unknown) => boolean
}

const PORT_CHECK: Check = {
  allowed: 'an integer from 0 to 65535',
  test: (value) => Number.isInteger(value) && Number(value) >= 0 && Number(value) <= 65_535,
}

const LOCAL_CHECKS: Record<keyof LocalOptions, Check> = {
  redisUrl: { allowed: 'a redis:// or rediss:// URL', test: isRedisUrl },
  engine: {
    allowed: "'auto', 'redis-server' or 'embedded'",
    test: (value) => value === 'auto' || value === 'redis-server' || value === 'embedded',
  },
  port: PORT_CHECK,
  host: { allowed: 'a host name or an IP address', test: isHost },
  allowedHosts: {
    allowed: 'an array of host names or IP addresses, without ports and brackets',
    test: (value) => Array.isArray(value) && value.every(isHost),
  },
  token: {
    allowed: 'a string of visible ASCII characters, without spaces',
    test: (value) => typeof value === 'string' && /^[!-~]+$/.test(value),
  },
  scriptFlag: { allowed: 'true or false', test: (value) => typeof value === 'boolean' },
}

/**
 * Checks that every option is known and allowed.
 *
 * @throws LocalError `ERR_LOCAL_OPTION`.
 */
function checkOptions(options: object, checks: Readonly<Record<string, Check>>): void {
  for (const [name, value] of Object.entries(options)) {
    const check = Object.hasOwn(checks, name) ? checks[name] : undefined
    if (!check) {
      const known = Object.keys(checks).join(', ')
      throw new LocalError('ERR_LOCAL_OPTION', `Unknown option "${name}"; there is: ${known}`)
    }
    // The value stays out of the text: it may be a token or hold a password.
    if (value !== undefined && !check.test(value)) {
      throw new LocalError('ERR_LOCAL_OPTION', `Option "${name}" must be ${check.allowed}`)
    }
  }
}

/** Checks the options of a `redis-server` of one's own. */
export function checkServerOptions(options: object): void {
  checkOptions(options, { port: PORT_CHECK })
}

/** Checks the options and fills in the defaults. */
export function resolveOptions(options: LocalOptions): Resolved {
  checkOptions(options, LOCAL_CHECKS)
  const { redisUrl, engine = 'auto' } = options
  if (redisUrl !== undefined && engine !== 'auto') {
    throw new LocalError(
      'ERR_LOCAL_OPTION',
      `Option "engine" must be 'auto' when "redisUrl" is given: that Redis is the engine`,
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
