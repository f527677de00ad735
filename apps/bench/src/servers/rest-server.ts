// The process of the REST server. It ends with the process that started it.
import { subscribe } from 'node:diagnostics_channel'
import { startLocal } from '@sluice/local'
import type { RestAddress, RestWork } from './servers.ts'

const [, , redisUrl = ''] = process.argv
let requests = 0
subscribe('http.server.request.start', () => void (requests += 1))
const server = await startLocal({ redisUrl })
const address: RestAddress = { url: server.url, token: server.token }
process.once('disconnect', () => void server.close().then(() => process.exit(0)))
process.send?.(address)
// Every message asks for the work so far.
process.on('message', () => {
  const { user, system } = process.cpuUsage()
  process.send?.({ cpu: user + system, requests } satisfies RestWork)
})
