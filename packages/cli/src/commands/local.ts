import type { LocalServer } from '@sluice/local'
import type { Command } from '../command.ts'
import {
  engineText,
  linesOf,
  startStore,
  STORE_USAGE,
  untilAbortedOrLost,
  variablesOf,
} from '../local-store.ts'

export const local: Command = {
  summary: 'a store on this machine, for development and tests',
  usage: `Usage: sluice local [options]

The Upstash Redis REST protocol on this machine, until Ctrl-C. It prints the two variables for your app.

${STORE_USAGE}\
  --host ADDRESS        listen on this address (default: 127.0.0.1)
  --allow-host NAME     accept this name in the Host header too; repeatable (localhost and 127.0.0.1 are always
                        accepted, and any other name gets 403)
  --token TEXT          the bearer token to accept (default: $UPSTASH_REDIS_REST_TOKEN, or a random one)
`,

  async run(values, _, { stopSignal }) {
    // Listens to signals before the server is up: an early one must end the redis-server too.
    const signal = stopSignal()
    // An empty variable means "not set"; an empty option is a mistake.
    const server = await startStore(values, process.env['UPSTASH_REDIS_REST_TOKEN'] || undefined)
    const { url, token, engine } = server
    if (!isLoopback(url)) {
      process.stderr.write(
        `Warning: ${url} can be reached from other machines, without encryption.\n`,
      )
    }
    return { text: banner(server), json: { url, token, engine }, ended: closeAt(signal, server) }
  },
}

/** Closes the server at a signal, or when it has lost its engine. Returns the exit code. */
async function closeAt(signal: AbortSignal, server: LocalServer): Promise<number> {
  const exitCode = await untilAbortedOrLost(server, signal)
  await server.close()
  return exitCode
}

const banner = (server: LocalServer): string =>
  `Sluice local: the Upstash REST protocol, for development and tests

  address ${server.url}
  engine  ${engineText(server)}

${linesOf(variablesOf(server))}`

const isLoopback = (url: string): boolean =>
  /^(?:127\.|localhost$|\[::1\]$)/.test(new URL(url).hostname)
