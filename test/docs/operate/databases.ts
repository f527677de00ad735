/* Databases that fail over and are restored, and an operator at each. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { dirname, basename } from 'node:path'
import { startLocal, startRedisServer } from '@sluice/local'
import { guardChild } from '../../../packages/local/dist/redis-server/child-guard.js'
import { freePort } from '../../e2e/support/ports.ts'
import { connect } from '../../support/redis.ts'

const PROGRAM = 'redis-server'

/** A Redis, and a REST API in front of it. */
export interface Database {
  readonly redisUrl: string
  readonly local: { readonly url: string; readonly token: string }
  /** Sends a command, as an administrator does. */
  send(name: string, ...args: string[]): Promise<unknown>
  stop(): Promise<void>
}

/** Starts an empty database. */
export async function startDatabase(): Promise<Database> {
  const server = await startRedisServer()
  return overRest(server.url, () => server.stop())
}

/** Starts a database from a copy (RDB). */
export async function startFromCopy(file: string): Promise<Database> {
  const port = await freePort()
  const settings = { port, dir: dirname(file), dbfilename: basename(file), save: '' }
  const args = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, String(value)])
  const server = spawn(PROGRAM, args, { stdio: 'ignore' })
  const cancelGuard = guardChild(server.pid ?? 0)
  const ended = once(server, 'exit')
  return overRest(`redis://127.0.0.1:${port}`, async () => {
    cancelGuard()
    server.kill()
    await ended
  })
}

/** Makes `replica` the primary, without what `primary` is charged from now on. */
export async function failOver(primary: Database, replica: Database): Promise<void> {
  const { hostname, port } = new URL(primary.redisUrl)
  await replica.send('REPLICAOF', hostname, port)
  // Waits until the replica has all of it.
  let copies: unknown = 0
  while (copies !== 1) copies = await primary.send('WAIT', '1', '1000')
  await replica.send('REPLICAOF', 'NO', 'ONE')
}

async function overRest(redisUrl: string, stopServer: () => Promise<void>): Promise<Database> {
  const redis = connect(redisUrl)
  // Until it listens.
  redis.on('error', () => {})
  await redis.call('CONFIG', 'SET', 'repl-diskless-sync-delay', '0')
  const local = await startLocal({ redisUrl })
  return {
    redisUrl,
    local,
    send: (name, ...args) => redis.call(name, ...args),
    async stop() {
      redis.disconnect()
      await local.close()
      await stopServer()
    },
  }
}
