import { readFileSync } from 'node:fs'
import { parseCommandLine, USAGE } from './options.ts'
import type { CliAction } from './options.ts'
import { TOKEN_USAGE } from './token-options.ts'
import type { TokenOptions } from './token-options.ts'
import { LocalError } from '../errors.ts'
import { startLocal } from '../start-local.ts'
import type { LocalServer } from '../start-local.ts'

const ENGINES: Record<LocalServer['engine'], string> = {
  redis: 'the Redis at',
  'redis-server': 'a redis-server of its own, empty and kept in memory only, at',
  embedded:
    'the embedded engine, in this process: for development and the demo only. Tests that\n' +
    '          prove correctness need a real Redis.',
}

function banner(server: LocalServer): string {
  const { engine, redisUrl, url, token } = server
  const address = redisUrl === undefined ? '' : ` ${withoutCredentials(redisUrl)}`
  return `Sluice local: the Upstash REST protocol, for development and tests

  address ${url}
  engine  ${ENGINES[engine]}${address}

UPSTASH_REDIS_REST_URL=${url}
UPSTASH_REDIS_REST_TOKEN=${token}
`
}

function withoutCredentials(redisUrl: string): string {
  const { protocol, host } = new URL(redisUrl)
  return `${protocol}//${host}`
}

function isLoopback(url: string): boolean {
  return /^(?:127\.|localhost$|\[::1\]$)/.test(new URL(url).hostname)
}

function version(): string {
  const manifest: unknown = JSON.parse(
    readFileSync(new URL('../../package.json', import.meta.url), 'utf8'),
  )
  return (manifest as { version: string }).version
}

function fail(message: string): never {
  process.stderr.write(`sluice-local: ${message}\n`)
  process.exit(1)
}

function readAction(): CliAction {
  const args = process.argv.slice(2)
  try {
    return parseCommandLine(args, process.env)
  } catch (error) {
    return fail(`${textOf(error)}\n\n${args[0] === 'token' ? TOKEN_USAGE : USAGE}`)
  }
}

async function printToken(options: TokenOptions): Promise<void> {
  // Loaded for this command only: it needs Node.js 20.12, the server an earlier one.
  const { createToken } = await import('./token.ts')
  try {
    process.stdout.write(`${createToken(options, process.cwd())}\n`)
  } catch (error) {
    fail(textOf(error))
  }
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

async function main(): Promise<void> {
  const action = readAction()
  if (action.kind === 'help') return void process.stdout.write(action.text)
  if (action.kind === 'version') return void process.stdout.write(`${version()}\n`)
  if (action.kind === 'token') return printToken(action.options)

  // Listens to signals before the server is up: an early one must end the redis-server too.
  const starting = startLocal(action.options)
  const stop = (): void => {
    starting
      .then((server) => server.close())
      .then(
        () => process.exit(0),
        () => process.exit(1),
      )
  }
  process.once('SIGINT', stop)
  process.once('SIGTERM', stop)
  const server = await starting
  process.stdout.write(banner(server))
  if (!isLoopback(server.url)) {
    process.stderr.write(
      `Warning: ${server.url} can be reached from other machines, without encryption.\n`,
    )
  }
}

main().catch((error: unknown) => {
  fail(error instanceof LocalError ? error.message : `unexpected error: ${String(error)}`)
})
