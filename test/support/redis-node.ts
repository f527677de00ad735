/* One node of a Redis Cluster on this machine. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync } from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { guardChild } from '../../packages/local/dist/redis-server/child-guard.js'

export type Command = [name: string, ...args: (string | number)[]]
export type ClusterNode = Awaited<ReturnType<typeof startNode>>

export const HOST = '127.0.0.1'
const PROGRAM = 'redis-server'
const START_ATTEMPTS = 5

const SETTINGS = {
  bind: HOST,
  save: '',
  appendonly: 'no',
  'cluster-enabled': 'yes',
  'cluster-node-timeout': 1_000,
  'cluster-replica-validity-factor': 0,
  'cluster-require-full-coverage': 'no',
  // Else a master that loses its last slot becomes a replica.
  'cluster-allow-replica-migration': 'no',
  'repl-diskless-sync-delay': 0,
}

/** Starts a node that knows no other, with its files in a folder of `parent`. */
export async function startNode(parent: string) {
  for (let attempt = 1; ; attempt += 1) {
    const [port, busPort] = await freePorts()
    const dir = mkdtempSync(join(parent, 'node-'))
    const settings = Object.entries({ ...SETTINGS, dir, port, 'cluster-port': busPort })
    const args = settings.flatMap(([name, value]) => [`--${name}`, String(value)])
    const server = spawn(PROGRAM, args, { stdio: 'ignore' })
    await once(server, 'spawn')
    const cancelGuard = guardChild(server.pid ?? 0)
    const isAlive = () => !server.killed && server.exitCode === null && server.signalCode === null
    const redis = new Redis(port, HOST, {
      disableClientInfo: true,
      enableReadyCheck: false,
      maxRetriesPerRequest: null,
      retryStrategy: () => (isAlive() ? 10 : null),
      commandTimeout: 10_000,
    })
    redis.on('error', () => {})
    const ended = once(server, 'exit').then(() => {
      cancelGuard()
      redis.disconnect()
    })
    /** Sends a command; fails once the node is dead. */
    const send = (...[name, ...rest]: Command): Promise<unknown> => redis.call(name, ...rest)
    const kill = async (): Promise<void> => {
      server.kill('SIGKILL')
      await ended
    }
    // Another process may have taken one of the ports.
    const info = await send('INFO', 'server').catch(String)
    if (String(info).includes(`process_id:${server.pid}\r`)) {
      const id = String(await send('CLUSTER', 'MYID'))
      return { port, busPort, id, isAlive, send, kill }
    }
    await kill()
    if (attempt === START_ATTEMPTS) throw new Error(`redis-server does not start: ${String(info)}`)
  }
}

/** Finds a port for clients, and one for the bus between the nodes: 10,000 above may not be free. */
async function freePorts(): Promise<[port: number, busPort: number]> {
  const servers = [createServer(), createServer()].map((server) => server.listen(0, HOST))
  await Promise.all(servers.map((server) => once(server, 'listening')))
  const [port = 0, busPort = 0] = servers.map((server) => (server.address() as AddressInfo).port)
  await Promise.all(servers.map((server) => once(server.close(), 'close')))
  return [port, busPort]
}
