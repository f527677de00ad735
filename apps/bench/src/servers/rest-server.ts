// The process of the REST server. It ends with the process that started it.
import { startLocal } from '@sluice/local'
import type { RestAddress } from './servers.ts'

const [, , redisUrl = ''] = process.argv
const server = await startLocal({ redisUrl })
const address: RestAddress = { url: server.url, token: server.token }
process.once('disconnect', () => void server.close().then(() => process.exit(0)))
process.send?.(address)
// Every message asks for the CPU time so far.
process.on('message', () => {
  const { user, system } = process.cpuUsage()
  process.send?.(user + system)
})
