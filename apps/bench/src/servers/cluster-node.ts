import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Redis } from 'ioredis'

const PROGRAM = 'redis-server'

/** A Redis in cluster mode that serves all slots: a decision costs it as much as any node of a cluster. */
export interface ClusterNode extends AsyncDisposable {
  readonly port: number
  /** A direct connection. */
  readonly redis: Redis
}

export async function startClusterNode(): Promise<ClusterNode> {
  const [port, busPort] = [await freePort(), await freePort()]
  const directory = await mkdtemp(join(tmpdir(), 'sluice-bench-'))
  const settings = {
    port,
    'cluster-port': busPort,
    // It learns its address from other nodes, of which there are none.
    'cluster-announce-ip': '127.0.0.1',
    dir: directory,
    bind: '127.0.0.1',
    save: '',
  }
  const args = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, String(value)])
  const server = spawn(PROGRAM, [...args, '--cluster-enabled', 'yes'], { stdio: 'ignore' })
  const end = (): boolean => server.kill('SIGKILL')
  process.once('exit', end)
  const exited = once(server, 'exit')
  const redis = new Redis(port, { disableClientInfo: true, enableReadyCheck: false })
  // Refused until it listens.
  redis.on('error', () => {})
  await redis.call('CLUSTER', 'ADDSLOTSRANGE', 0, 16_383)
  while (!String(await redis.call('CLUSTER', 'INFO')).includes('cluster_state:ok')) {
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  return {
    port,
    redis,
    async [Symbol.asyncDispose]() {
      redis.disconnect()
      process.off('exit', end)
      end()
      await exited
      await rm(directory, { recursive: true, force: true })
    },
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}
