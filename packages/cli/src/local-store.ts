/* The store of `sluice local` and `sluice dev`. */
import type { LocalOptions, LocalServer } from '@sluice/local'
import { listOf, textOf, type Values } from './command.ts'
import { CommandError } from './errors.ts'

const DEFAULT_PORT = 8079

/** The lines of `--help` about where the store keeps its data, and its port. */
export const STORE_USAGE: string = `\
  --redis URL           use this Redis (default: $REDIS_URL)
  --engine NAME         without a URL: auto, redis-server or embedded (default: auto, which starts a redis-server
                        or valkey-server from the PATH, or else runs the embedded engine)
  --port NUMBER         listen on this port, 0 for a free one (default: ${DEFAULT_PORT})
`

/**
 * Starts the store that the command line and the environment name.
 *
 * @param token The token without `--token`. @default a random one
 * @throws CommandError When an option is invalid, or the store does not start.
 */
export async function startStore(values: Values, token?: string): Promise<LocalServer> {
  // Loaded for these commands only: it brings a client of Redis and an engine.
  const { LocalError, startLocal } = await import('@sluice/local')
  return startLocal(optionsOf(values, token, process.env)).catch((error: unknown) => {
    throw error instanceof LocalError ? new CommandError(flagged(error.message)) : error
  })
}

/** Returns an error's text with options as they are written in a command. */
const flagged = (text: string): string =>
  text
    .replace(/^Option "(\w+)"/, (_, option: string) => `--${FLAGS[option] ?? option}`)
    .replace('"redisUrl"', '--redis')

const FLAGS: Readonly<Record<string, string>> = { redisUrl: 'redis', allowedHosts: 'allow-host' }

/** Returns the options of the command line and the environment. `startLocal` checks their values. */
function optionsOf(
  values: Values,
  defaultToken: string | undefined,
  env: Readonly<Record<string, string | undefined>>,
): LocalOptions {
  const [engine, host] = [textOf(values, 'engine'), textOf(values, 'host')]
  // An engine that the command line names takes precedence over the environment.
  const redisUrl =
    textOf(values, 'redis') ?? (engine === undefined ? env['REDIS_URL'] || undefined : undefined)
  const token = textOf(values, 'token') ?? defaultToken
  const allowedHosts = [...listOf(values, 'allow-host')]
  return {
    port: portOf(textOf(values, 'port')) ?? DEFAULT_PORT,
    ...(redisUrl !== undefined && { redisUrl }),
    ...(engine !== undefined && { engine: engine as 'auto' }),
    ...(host !== undefined && { host }),
    ...(allowedHosts.length > 0 && { allowedHosts }),
    ...(token !== undefined && { token }),
  }
}

/** Reads a port; `NaN` for a text that is no number. */
export function portOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  return /^\d+$/.test(text) ? Number(text) : Number.NaN
}

export const variablesOf = ({ url, token }: LocalServer): Readonly<Record<string, string>> => ({
  UPSTASH_REDIS_REST_URL: url,
  UPSTASH_REDIS_REST_TOKEN: token,
})

/** Writes variables as lines of a `.env` file. */
export const linesOf = (variables: Readonly<Record<string, string>>): string =>
  Object.entries(variables)
    .map(([name, value]) => `${name}=${value}`)
    .join('\n')

const ENGINES: Readonly<Record<LocalServer['engine'], string>> = {
  redis: 'the Redis at',
  'redis-server': 'a redis-server of its own, empty and kept in memory only, at',
  embedded:
    'the embedded engine, in this process: for development and the demo only. Tests that\n' +
    '          prove correctness need a real Redis.',
}

/** Says what keeps the data of a store. */
export const engineText = ({ engine, redisUrl }: LocalServer): string =>
  redisUrl === undefined ? ENGINES[engine] : `${ENGINES[engine]} ${withoutCredentials(redisUrl)}`

function withoutCredentials(redisUrl: string): string {
  const { protocol, host } = new URL(redisUrl)
  return `${protocol}//${host}`
}

/**
 * Waits for the end of the redis-server of a store, and says so if it has ended by itself. Returns false if it was to end.
 *
 * @param end Aborted before the store is closed, and by a signal to this process: Ctrl-C reaches all of a terminal.
 */
export async function reportLoss(store: LocalServer, end: AbortSignal): Promise<boolean> {
  await store.engineEnded
  if (end.aborted) return false
  process.stderr.write(
    'sluice: the redis-server of the store has ended by itself, and its data with it. Start the command again\n',
  )
  return true
}

/** Waits for a signal, or for the loss of the redis-server. Returns the exit code. */
export const untilAbortedOrLost = (store: LocalServer, signal: AbortSignal): Promise<number> =>
  Promise.race([
    untilAborted(signal).then(() => 0),
    reportLoss(store, signal).then((isLost) => (isLost ? 1 : 0)),
  ])

async function untilAborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return
  await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))
}
