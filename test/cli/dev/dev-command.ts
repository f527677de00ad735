/* `sluice dev` as a terminal starts it, in a project with a small server. */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync } from 'node:fs'
import { join } from 'node:path'
import { COMMAND, project } from '../project.ts'

/** A server with a limit of two requests a minute for each tenant. */
const SERVER = `
import { createServer } from 'node:http'
import { createLimiter, slidingWindow } from '@sluice/core'
import { upstash } from '@sluice/core/upstash'
import { relay } from '@sluice/dashboard/relay'

const limiter = createLimiter({
  store: upstash({ timeoutMs: 30_000 }),
  policies: [slidingWindow({ name: 'rpm', limit: 2, window: '1m', per: ['tenant'] })],
  extensions: [relay({ name: 'api' })],
})
const server = createServer(async (request, response) => {
  const { allowed } = await limiter.check({ tenant: request.headers['x-tenant'] })
  response.writeHead(allowed ? 200 : 429).end()
})
server.listen(0, '127.0.0.1', () => {
  const { UPSTASH_REDIS_REST_URL: url, UPSTASH_REDIS_REST_TOKEN: token } = process.env
  const app = 'http://127.0.0.1:' + server.address().port
  console.log(JSON.stringify({ app, pid: process.pid, url, token }))
})
`

/** The server of the project, as it prints itself. */
export interface App {
  readonly app: string
  readonly pid: number
  readonly url: string
  readonly token: string
}

/** A command that runs. */
export interface Dev {
  readonly child: ChildProcess
  readonly exited: Promise<number | null>
  out(): string
  err(): string
  /** Waits until it has printed this, to one or the other output, and returns the first group. */
  printed(pattern: RegExp): Promise<string>
}

const started: ChildProcess[] = []

/** Ends the commands of a test, each by its id: call it in `afterEach`. */
export async function endCommands(): Promise<void> {
  for (const child of started.splice(0)) {
    if (child.exitCode !== null || child.signalCode !== null) continue
    child.kill('SIGTERM')
    await once(child, 'exit')
  }
}

/** Runs a command in a terminal of its own, which prints the id of its process first. */
export const inTerminal = (line: readonly string[]): readonly string[] => {
  const quoted = line.map((word) => `'${word}'`).join(' ')
  return ['script', '-qec', `echo process $$; exec ${quoted}`, '/dev/null']
}

/**
 * Starts `sluice dev` on free ports, unless the arguments name others.
 *
 * @param around Returns the command line to run instead, with this one in it.
 */
export function startDev(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
  files: Readonly<Record<string, string>> = {},
  around: (line: readonly string[]) => readonly string[] = (line) => line,
): Dev & { readonly folder: string } {
  const { folder } = project({ 'server.mjs': SERVER, ...files })
  for (const [path, text] of Object.entries(files)) {
    if (text.startsWith('#!')) chmodSync(join(folder, path), 0o755)
  }
  const ports = ['--port', '--page-port'].flatMap((name) =>
    args.includes(name) ? [] : [name, '0'],
  )
  const [program, ...line] = around([process.execPath, COMMAND, 'dev', ...ports, ...args])
  const child = spawn(program as string, line, {
    cwd: folder,
    env: { PATH: process.env['PATH'], HOME: folder, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  started.push(child)
  const outputs = { out: '', err: '' }
  child.stdout.on('data', (chunk: Buffer) => (outputs.out += chunk.toString()))
  child.stderr.on('data', (chunk: Buffer) => (outputs.err += chunk.toString()))
  const exited = once(child, 'close').then(([code]) => code as number | null)
  const printed = async (pattern: RegExp): Promise<string> => {
    const ended = exited.then(() => Promise.reject(new Error(`It ended:\n${outputs.err}`)))
    // It also ends after the pattern was found.
    ended.catch(() => undefined)
    for (;;) {
      const found = pattern.exec(`${outputs.out}\n${outputs.err}`)
      if (found) return found[1] ?? found[0]
      await Promise.race([once(child.stdout, 'data'), once(child.stderr, 'data'), ended])
    }
  }
  return { folder, child, exited, out: () => outputs.out, err: () => outputs.err, printed }
}

/** Waits for the address of the page. */
export const pageOf = (dev: Dev): Promise<string> => dev.printed(/^ {2}page +(http:\S+)\n/m)

/** Waits for the server of the project. */
export const appOf = async (dev: Dev): Promise<App> =>
  JSON.parse(await dev.printed(/^(\{"app".*\})$/m)) as App

/** Sends requests of a tenant. Resolves to their status codes. */
export async function send({ app }: App, tenant: string, count: number): Promise<number[]> {
  const statuses: number[] = []
  for (let index = 0; index < count; index += 1) {
    statuses.push((await fetch(app, { headers: { 'x-tenant': tenant } })).status)
  }
  return statuses
}

/** Joins the path of a file to a project's folder. */
export const fileIn = (dev: { readonly folder: string }, name: string): string =>
  join(dev.folder, name)
