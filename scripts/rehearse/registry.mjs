import { once } from 'node:events'
import { createServer } from 'node:http'

/** The address below which a registry has its tarballs. */
const TARBALL = /^\/(@[^/]+\/[^/]+)\/-\/(.+\.tgz)$/

/**
 * Starts a registry of npm on 127.0.0.1 that takes what `npm publish` sends and gives it to `npm install`. It has
 * nothing else: the user's own settings say where other packages come from.
 */
export async function startRegistry() {
  const packages = new Map()
  const tarballs = new Map()
  const server = createServer((request, response) => {
    const path = decodeURIComponent(new URL(request.url, 'http://localhost').pathname)
    const json = { 'content-type': 'application/json' }
    if (request.method === 'PUT') {
      const chunks = []
      request.on('data', (chunk) => chunks.push(chunk))
      request.on('end', () => {
        publish(JSON.parse(Buffer.concat(chunks).toString()))
        response.writeHead(201, json).end('{"ok":true}')
      })
      return
    }
    const tarball = tarballs.get(path)
    const manifest = packages.get(path.slice(1))
    if (tarball) response.writeHead(200).end(tarball)
    else if (manifest) response.writeHead(200, json).end(JSON.stringify(manifest))
    else response.writeHead(404, json).end('{}')
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${server.address().port}/`

  function publish({ name, versions, _attachments: attachments, 'dist-tags': tags }) {
    for (const version of Object.values(versions)) {
      const [, scoped, file] = TARBALL.exec(new URL(version.dist.tarball).pathname) ?? []
      version.dist.tarball = `${url}${scoped}/-/${file}`
      const [attachment] = Object.values(attachments)
      tarballs.set(`/${scoped}/-/${file}`, Buffer.from(attachment.data, 'base64'))
    }
    const known = packages.get(name)
    packages.set(name, { name, 'dist-tags': tags, versions: { ...known?.versions, ...versions } })
  }

  return {
    url,
    /** The names of what was published. */
    names: () => [...packages.keys()],
    close: () => {
      server.close()
      server.closeAllConnections()
    },
  }
}
