import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { guardChild } from './child-guard.ts'
import { LocalError } from '../errors.ts'
import { assertServerOptions } from '../options.ts'

const BINARIES = ['redis-server', 'valkey-server'] as const
const PORT_ATTEMPTS = 5
const START_TIMEOUT_MS = 10_000
const STOP_TIMEOUT_MS = 3_000

/** Options of `startRedisServer`. */
export interface RedisServerOptions {
  /** The TCP port on 127.0.0.1; 0 takes a free one. @default 0 */
  port?: number
}

/** A temporary Redis: it starts empty, keeps its data in memory only, and ends with `stop`. */
export interface RedisServer extends AsyncDisposable {
  /** The address, such as `redis://127.0.0.1:6390`. */
  readonly url: string
  readonly port: number
  readonly pid: number
  /** Resolves when the process has ended, by `stop` or by itself. */
  readonly ended: Promise<void>
  /** Ends the process and waits until it is gone. Further calls have no effect. */
  stop(): Promise<void>
}

/**
 * Starts the `redis-server` (or `valkey-server`) on the PATH, without persistence. It ends with
 * `stop`, or when this process ends.
 *
 * @throws LocalError `ERR_LOCAL_OPTION` for an invalid option, `ERR_LOCAL_REDIS_MISSING` when the
 * PATH has no server, `ERR_LOCAL_REDIS_START` when the server does not start.
 * @example
 * await using redis = await startRedisServer()
 * const client = new Redis(redis.url)
 */
export async function startRedisServer(options: RedisServerOptions = {}): Promise<RedisServer> {
  assertServerOptions(options)
  const { port = 0 } = options
  const attempts = port === 0 ? PORT_ATTEMPTS : 1
  let output = ''
  for (let attempt = 0; attempt < attempts; attempt += 1) {
    // Another process may take the free port before Redis does, so it may take several attempts.
    const candidate = port === 0 ? await freePort() : port
    const outcome = await launch(candidate)
    if (typeof outcome !== 'string') return outcome
    output = outcome
  }
  const lastLine = output.trim().split('\n').at(-1) ?? 'it printed nothing'
  throw new LocalError('ERR_LOCAL_REDIS_START', `redis-server did not start: ${lastLine}`)
}

/** Resolves to the server, or to its output if it did not become ready. */
async function launch(port: number): Promise<RedisServer | string> {
  const directory = await mkdtemp(join(tmpdir(), 'sluice-redis-'))
  const removeDirectory = (): Promise<void> => rm(directory, { recursive: true, force: true })
  try {
    const child = await spawnServer(port, directory)
    const exited = once(child, 'exit')
    const pid = child.pid ?? 0
    const cancelGuard = guardChild(pid)
    let output = ''
    child.stdout?.on(
      'data',
      (chunk: Buffer) => (output = (output + chunk.toString()).slice(-4_096)),
    )
    const stop = async (): Promise<void> => {
      cancelGuard()
      if (child.exitCode === null && child.signalCode === null) {
        child.kill('SIGTERM')
        const timer = setTimeout(() => child.kill('SIGKILL'), STOP_TIMEOUT_MS)
        await exited
        clearTimeout(timer)
      }
      await removeDirectory()
    }
    if (!(await becomesReady(child, port))) {
      await stop()
      return output
    }
    const url = `redis://127.0.0.1:${port}`
    const ended = exited.then(() => undefined)
    return { url, port, pid, ended, stop, [Symbol.asyncDispose]: stop }
  } catch (error) {
    await removeDirectory()
    throw error
  }
}

async function spawnServer(port: number, directory: string): Promise<ChildProcess> {
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
        throw new LocalError('ERR_LOCAL_REDIS_START', `Cannot run ${binary}`, {
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

async function becomesReady(child: ChildProcess, port: number): Promise<boolean> {
  const deadline = Date.now() + START_TIMEOUT_MS
  while (child.exitCode === null && child.signalCode === null && Date.now() < deadline) {
    if ((await answeringPid(port)) === child.pid) return true
    await delay(10)
  }
  return false
}

/** Reads the process id of the Redis on this port: if the port was taken, it is another one's. */
const answeringPid = (port: number): Promise<number | undefined> =>
  new Promise((resolve) => {
    let answer = ''
    const socket = connect(port, '127.0.0.1', () => socket.write('INFO server\r\n'))
    const finish = (): void => {
      socket.destroy()
      const pid = /^process_id:(\d+)\r$/m.exec(answer)?.[1]
      resolve(pid === undefined ? undefined : Number(pid))
    }
    socket.setTimeout(1_000, finish)
    socket.on('data', (chunk) => {
      answer += chunk.toString()
      if (/^process_id:\d+\r$/m.test(answer)) finish()
    })
    socket.once('error', finish)
    socket.once('close', finish)
  })

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  await once(server, 'close')
  return typeof address === 'object' && address !== null ? address.port : 0
}
