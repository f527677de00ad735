import { parseArgs } from 'node:util'
import type { LocalOptions } from '../options.ts'
import { parseTokenOptions, TOKEN_USAGE, type TokenOptions } from './token-options.ts'

/** The port that the command listens on without `--port`. */
const DEFAULT_PORT = 8079

export const USAGE: string = `Usage: sluice-local [options]
       sluice-local token --tenant NAME [options]

The Upstash Redis REST protocol on this machine, for development and tests. The second form prints a
JWT for requests to your own app: see sluice-local token --help.

  --redis URL     use this Redis (default: $REDIS_URL)
  --engine NAME   without a URL: auto, redis-server or embedded (default: auto, which starts a
                  redis-server or valkey-server from the PATH, or else runs the embedded engine)
  --port NUMBER   listen on this port, 0 for a free one (default: ${DEFAULT_PORT})
  --host ADDRESS  listen on this address (default: 127.0.0.1)
  --allow-host NAME
                  accept this name in the Host header too; repeatable (localhost and 127.0.0.1
                  are always accepted, and any other name gets 403)
  --token TEXT    the bearer token to accept (default: $UPSTASH_REDIS_REST_TOKEN, or a random one)
  --help          print this
  --version       print the version
`

/** The action that a command line requests. */
export type CliAction =
  | { kind: 'help'; text: string }
  | { kind: 'version' }
  | { kind: 'start'; options: LocalOptions }
  | { kind: 'token'; options: TokenOptions }

/**
 * Reads the command line and the environment; the values are checked by `startLocal`.
 *
 * @throws TypeError for an unknown option, or one without its value.
 */
export function parseCommandLine(
  args: string[],
  env: Readonly<Record<string, string | undefined>>,
): CliAction {
  if (args[0] === 'token') {
    const options = parseTokenOptions(args.slice(1))
    return options === 'help' ? { kind: 'help', text: TOKEN_USAGE } : { kind: 'token', options }
  }
  const { values } = parseArgs({
    args,
    options: {
      redis: { type: 'string' },
      engine: { type: 'string' },
      port: { type: 'string' },
      host: { type: 'string' },
      'allow-host': { type: 'string', multiple: true },
      token: { type: 'string' },
      help: { type: 'boolean', short: 'h' },
      version: { type: 'boolean', short: 'v' },
    },
  })
  if (values.help) return { kind: 'help', text: USAGE }
  if (values.version) return { kind: 'version' }
  // An engine that the command line names takes precedence over the environment.
  const fromEnv = values.engine === undefined ? env['REDIS_URL'] : undefined
  const redisUrl = values.redis ?? (fromEnv || undefined)
  // An empty variable means "not set"; an empty option is a mistake.
  const token = values.token ?? (env['UPSTASH_REDIS_REST_TOKEN'] || undefined)
  const options: LocalOptions = { port: parsePort(values.port) }
  if (redisUrl !== undefined) options.redisUrl = redisUrl
  if (values.engine !== undefined) options.engine = values.engine as 'auto'
  if (values.host !== undefined) options.host = values.host
  if (values['allow-host'] !== undefined) options.allowedHosts = values['allow-host']
  if (token !== undefined) options.token = token
  return { kind: 'start', options }
}

function parsePort(text: string | undefined): number {
  if (text === undefined) return DEFAULT_PORT
  return /^\d+$/.test(text) ? Number(text) : Number.NaN
}
