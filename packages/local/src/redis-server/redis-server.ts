import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { guardChild } from './child-guard.ts'
import { LocalError } from '../errors.ts'
import { checkServerOptions } from '../options.ts'

const BINARIES = ['redis-server', 'valkey-server'] as const
const PORT_ATTEMPTS = 5
const START_TIMEOUT_MS = 10_000
const STOP_TIMEOUT_MS = 3_000

/** Options of `startRedisServer`. */
export interface RedisServerOptions {
  /**
   * The TCP port on 127.0.0.1; 0 takes a free one.
   *
   * @default 0
   */
  port?: number
}

/** A Redis of one's own: empty at the start, kept in memory only, gone after `stop`. */
export interface RedisServer extends AsyncDisposable {
  /** As in `redis://127.0.0.1:6390`. */
  readonly url: string
  readonly port: number
  readonly pid: number
  /** Ends the process, by its id, and waits until it is gone. May be called again. */
  stop(): Promise<void>
}

/**
 * Starts the `redis-server` (or `valkey-server`) on the PATH, without persistence.
 *
 * It ends with `stop`, and at the latest when this process ends.
 *
 * @throws LocalError `ERR_LOCAL_OPTION`, `ERR_LOCAL_REDIS_MISSING` when there is none on the PATH,
 * `ERR_LOCAL_REDIS_START` when it does not come up.
 * @example
 * await using redis = await startRedisServer()
 * const client = new Redis(redis.url)
 */
export async function startRedisServer(options: RedisServerOptions = {}): Promise<RedisServer> {
  checkServerOptions(options)
  const { port = 0 } = options
  const attempts = port === 0 ? PORT_ATTEMPTS : 1
  let output = ''
  for (let attempt = 0; attempt < attempts; attempt += 1) {
    // Another process may take a free port before Redis does, hence the further attempts.
    const candidate = port === 0 ? await freePort() : port
    const outcome = await launch(candidate)
    if (typeof outcome !== 'string') return outcome
    output = outcome
  }
  throw new LocalError('ERR_LOCAL_REDIS_START', `redis-server did not start: ${lastLine(output)}`)
}

/** Resolves to the server, or to what it printed when it ended before it was ready. */
async function launch(port: number): Promise<RedisServer | string> {
  const directory = await mkdtemp(join(tmpdir(), 'sluice-redis-'))
  const removeDirectory = (): Promise<void> => rm(directory, { recursive: true, force: true })
  try {
    const child = await spawnFirst(port, directory)
    const exited = once(child, 'exit')
    const pid = child.pid ?? 0
    const release = guardChild(pid)
    let output = ''
    child.stdout?.on(
      'data',
      (chunk: Buffer) => (output = (output + chunk.toString()).slice(-4_096)),
    )
    const stop = async (): Promise<void> => {
      release()
      if (child.exitCode === null && child.signalCode === null) {
        child.kill('SIGTERM')
        const timer = setTimeout(() => child.kill('SIGKILL'), STOP_TIMEOUT_MS)
        await exited
        clearTimeout(timer)
      }
      await removeDirectory()
    }
    if (!(await answersBeforeExit(child, port))) {
      await stop()
      return output
    }
    const url = `redis://127.0.0.1:${port}`
    return { url, port, pid, stop, [Symbol.asyncDispose]: stop }
  } catch (error) {
    await removeDirectory()
    throw error
  }
}

async function spawnFirst(port: number, directory: string): Promise<ChildProcess> {
  const settings = ['--save', '', '--appendonly', 'no', '--bind', '127.0.0.1', '--dir', directory]
  for (const binary of BINARIES) {
    const child = spawn(binary, [...settings, '--port', String(port)], {
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    try {
      await once(child, 'spawn')
      return child
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') {
        throw new LocalError('ERR_LOCAL_REDIS_START', `${binary} could not be run`, {
          cause: error,
        })
      }
    }
  }
  throw new LocalError(
    'ERR_LOCAL_REDIS_MISSING',
    `There is no ${BINARIES.join(' or ')} on the PATH: install one, pass a Redis URL, or use the embedded engine`,
  )
}

async function answersBeforeExit(child: ChildProcess, port: number): Promise<boolean> {
  const deadline = Date.now() + START_TIMEOUT_MS
  while (child.exitCode === null && child.signalCode === null && Date.now() < deadline) {
    if ((await answeringPid(port)) === child.pid) return true
    await delay(10)
  }
  return false
}

/** Who answers there: on a port that is taken, another Redis may. */
function answeringPid(port: number): Promise<number | undefined> {
  return new Promise((resolve) => {
    let answer = ''
    const socket = connect(port, '127.0.0.1', () => socket.write('INFO server\r\n'))
    const settle = (): void => {
      socket.destroy()
      const pid = /^process_id:(\d+)\r$/m.exec(answer)?.[1]
      resolve(pid === undefined ? undefined : Number(pid))
    }
    socket.setTimeout(1_000, settle)
    socket.on('data', (chunk) => {
      answer += chunk.toString()
      if (/^process_id:\d+\r$/m.test(answer)) settle()
    })
    socket.once('error', settle)
    socket.once('close', settle)
  })
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  await once(server, 'close')
  return typeof address === 'object' && address !== null ? address.port : 0
}

function lastLine(output: string): string {
  return output.trim().split('\n').at(-1) ?? 'it printed nothing'
}
