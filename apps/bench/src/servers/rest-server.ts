// The REST server's process: it ends when the one that started it does.
import { startLocal } from '@sluice/local'
import type { RestAddress } from './servers.ts'

const [, , redisUrl = ''] = process.argv
const server = await startLocal({ redisUrl })
const address: RestAddress = { url: server.url, token: server.token }
process.once('disconnect', () => void server.close().then(() => process.exit(0)))
process.send?.(address)
