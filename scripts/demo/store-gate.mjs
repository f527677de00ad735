import { once } from 'node:events'
import { Agent, createServer, request } from 'node:http'

const HOST = '127.0.0.1'
// Above the pauses of a viewer: a client may send on a connection in the moment that it is closed.
const KEEP_ALIVE_MS = 60_000

/**
 * Puts a switch before a store: while it is off, each connection is cut. `PUT /switch` with the store's
 * token and the body `down` or `up` turns it.
 */
export async function startStoreGate({ url, token }) {
  const { hostname, port } = new URL(url)
  const agent = new Agent({ keepAlive: true })
  let isDown = false
  const server = createServer({ keepAliveTimeout: KEEP_ALIVE_MS }, (incoming, answer) => {
    if (incoming.method === 'PUT' && incoming.url === '/switch') return turn(incoming, answer)
    if (isDown) return incoming.socket.destroy()
    const { method, url: path, headers } = incoming
    const passed = request({ hostname, port, path, method, headers, agent }, (response) => {
      answer.writeHead(response.statusCode, response.headers)
      response.pipe(answer)
    })
    passed.on('error', () => answer.destroy())
    return incoming.pipe(passed)
  })

  function turn(incoming, answer) {
    let body = ''
    incoming.on('data', (chunk) => (body += chunk))
    incoming.on('end', () => {
      const isAllowed = incoming.headers.authorization === `Bearer ${token}`
      if (isAllowed) isDown = body === 'down'
      answer.writeHead(isAllowed ? 204 : 403).end()
    })
  }

  server.listen(0, HOST)
  await once(server, 'listening')
  const address = `http://${HOST}:${server.address().port}`
  return {
    url: address,
    switchUrl: `${address}/switch`,
    async stop() {
      agent.destroy()
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}
