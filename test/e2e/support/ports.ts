import { once } from 'node:events'
import { createServer, type Server } from 'node:net'

export function addressOf(server: Server): { port: number } {
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('Not listening')
  return address
}

/** A port that was free a moment ago. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = addressOf(server)
  server.close()
  await once(server, 'close')
  return port
}
