import type { LocalOptions, LocalServer } from '@sluice/local'
import type { Command, Values } from '../command.ts'
import { listOf, textOf } from '../command.ts'
import { CommandError } from '../errors.ts'

const DEFAULT_PORT = 8079

export const local: Command = {
  summary: 'a store on this machine, for development and tests',
  usage: `Usage: sluice local [options]

The Upstash Redis REST protocol on this machine, until Ctrl-C. It prints the two variables for your app.

  --redis URL           use this Redis (default: $REDIS_URL)
  --engine NAME         without a URL: auto, redis-server or embedded (default: auto, which starts a redis-server
                        or valkey-server from the PATH, or else runs the embedded engine)
  --port NUMBER         listen on this port, 0 for a free one (default: ${DEFAULT_PORT})
  --host ADDRESS        listen on this address (default: 127.0.0.1)
  --allow-host NAME     accept this name in the Host header too; repeatable (localhost and 127.0.0.1 are always
                        accepted, and any other name gets 403)
  --token TEXT          the bearer token to accept (default: $UPSTASH_REDIS_REST_TOKEN, or a random one)
`,
  options: {
    redis: { type: 'string' },
    engine: { type: 'string' },
    port: { type: 'string' },
    host: { type: 'string' },
    'allow-host': { type: 'string', multiple: true },
    token: { type: 'string' },
  },

  async run(values, _, { stopSignal }) {
    // Listens to signals before the server is up: an early one must end the redis-server too.
    const signal = stopSignal()
    const server = await start(optionsOf(values, process.env))
    const { url, token, engine } = server
    if (!isLoopback(url)) {
      process.stderr.write(
        `Warning: ${url} can be reached from other machines, without encryption.\n`,
      )
    }
    return { text: banner(server), json: { url, token, engine }, ended: closeAt(signal, server) }
  },
}

async function start(options: LocalOptions): Promise<LocalServer> {
  // Loaded for this command only: it brings a client of Redis and an engine.
  const { LocalError, startLocal } = await import('@sluice/local')
  return startLocal(options).catch((error: unknown) => {
    throw error instanceof LocalError ? new CommandError(flagged(error.message)) : error
  })
}

/** Returns an error's text with options as they are written in a command. */
const flagged = (text: string): string =>
  text
    .replace(/^Option "(\w+)"/, (_, option: string) => `--${FLAGS[option] ?? option}`)
    .replace('"redisUrl"', '--redis')

const FLAGS: Readonly<Record<string, string>> = { redisUrl: 'redis', allowedHosts: 'allow-host' }

/** Closes the server at a signal. */
async function closeAt(signal: AbortSignal, server: LocalServer): Promise<void> {
  if (!signal.aborted) {
    await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))
  }
  await server.close()
}

/** Returns the options of the command line and the environment. `startLocal` checks their values. */
function optionsOf(
  values: Values,
  env: Readonly<Record<string, string | undefined>>,
): LocalOptions {
  const [engine, host] = [textOf(values, 'engine'), textOf(values, 'host')]
  // An engine that the command line names takes precedence over the environment.
  const redisUrl =
    textOf(values, 'redis') ?? (engine === undefined ? env['REDIS_URL'] || undefined : undefined)
  // An empty variable means "not set"; an empty option is a mistake.
  const token = textOf(values, 'token') ?? (env['UPSTASH_REDIS_REST_TOKEN'] || undefined)
  const allowedHosts = [...listOf(values, 'allow-host')]
  return {
    port: portOf(textOf(values, 'port')),
    ...(redisUrl !== undefined && { redisUrl }),
    ...(engine !== undefined && { engine: engine as 'auto' }),
    ...(host !== undefined && { host }),
    ...(allowedHosts.length > 0 && { allowedHosts }),
    ...(token !== undefined && { token }),
  }
}

function portOf(text: string | undefined): number {
  if (text === undefined) return DEFAULT_PORT
  return /^\d+$/.test(text) ? Number(text) : Number.NaN
}

const ENGINES: Readonly<Record<LocalServer['engine'], string>> = {
  redis: 'the Redis at',
  'redis-server': 'a redis-server of its own, empty and kept in memory only, at',
  embedded:
    'the embedded engine, in this process: for development and the demo only. Tests that\n' +
    '          prove correctness need a real Redis.',
}

function banner({ engine, redisUrl, url, token }: LocalServer): string {
  const address = redisUrl === undefined ? '' : ` ${withoutCredentials(redisUrl)}`
  return `Sluice local: the Upstash REST protocol, for development and tests

  address ${url}
  engine  ${ENGINES[engine]}${address}

UPSTASH_REDIS_REST_URL=${url}
UPSTASH_REDIS_REST_TOKEN=${token}`
}

function withoutCredentials(redisUrl: string): string {
  const { protocol, host } = new URL(redisUrl)
  return `${protocol}//${host}`
}

const isLoopback = (url: string): boolean =>
  /^(?:127\.|localhost$|\[::1\]$)/.test(new URL(url).hostname)
