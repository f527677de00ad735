/* A Redis that keeps its data on disk: what it has answered survives a kill. */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { guardChild } from '../../packages/local/dist/redis-server/child-guard.js'

const HOST = '127.0.0.1'
const PROGRAM = 'redis-server'

export interface LastingRedis extends AsyncDisposable {
  readonly url: string
  /** Kills it as a power cut would, and starts it again with what is on disk. */
  restart(): Promise<void>
}

/** @param appendfsync `always` writes each command to disk before it is answered; `everysec` once a second. */
export async function lastingRedis(appendfsync: 'always' | 'everysec'): Promise<LastingRedis> {
  const dir = mkdtempSync(join(tmpdir(), 'queue-redis-'))
  const server = createServer().listen(0, HOST)
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  await once(server.close(), 'close')
  let child = await start(dir, port, appendfsync)
  const kill = async (): Promise<void> => {
    const ended = once(child, 'exit')
    child.kill('SIGKILL')
    await ended
  }
  return {
    url: `redis://${HOST}:${port}`,
    async restart() {
      await kill()
      child = await start(dir, port, appendfsync)
    },
    async [Symbol.asyncDispose]() {
      await kill()
      rmSync(dir, { recursive: true, force: true })
    },
  }
}

async function start(dir: string, port: number, appendfsync: string): Promise<ChildProcess> {
  const settings = { bind: HOST, port, dir, save: '', appendonly: 'yes', appendfsync }
  const args = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, String(value)])
  const child = spawn(PROGRAM, args, { stdio: 'ignore' })
  await once(child, 'spawn')
  const cancelGuard = guardChild(child.pid ?? 0)
  child.once('exit', cancelGuard)
  const redis = new Redis(port, HOST, { maxRetriesPerRequest: null, retryStrategy: () => 20 })
  redis.on('error', () => {})
  // It answers `LOADING` while it reads its file.
  for (let attempt = 0; attempt < 500; attempt += 1) {
    const answer = await redis.ping().catch(() => '')
    if (answer === 'PONG') break
    await setTimeout(20)
  }
  redis.disconnect()
  return child
}
