import { startLocal, startRedisServer, type LocalServer, type RedisServer } from '@sluice/local'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { connect } from '../../support/redis.ts'
import { createOperator, jsonOf } from '../operator.ts'
import { envOf, removeProjects } from '../project.ts'

let server: RedisServer
let rest: LocalServer

beforeAll(async () => {
  server = await startRedisServer()
  rest = await startLocal({ redisUrl: server.url })
  const owner = connect(server.url)
  await owner.acl('SETUSER', 'default', '-eval', '-evalsha')
  owner.disconnect()
})
afterAll(async () => {
  removeProjects()
  await rest.close()
  await server.stop()
})

/** The commands that ask the store, each with what it needs. */
const COMMANDS = [
  'show',
  'show --tenant acme --route chat',
  'why --tenant acme --route chat',
  'why --tenant acme --recent',
  'why --tenant acme --id req_1',
  'set rpm limit=5',
  'set rpm limit=5 --yes',
  'raise rpm 50 --tenant acme --until 1h',
  'stop acme',
  'stop acme --yes',
  'start acme',
  'reset --tenant acme --route chat',
  'reset --tenant acme --route chat --yes',
  'apply',
  'undo',
  'log',
  'usage',
  'keys --tenant acme',
  'keys create --tenant acme --yes',
]

/** The settings that `sluice apply` reads. */
const CONFIGURATION = "export const configuration = [{ policy: 'rpm', settings: { limit: 30 } }]"

/** A limiter with limits alone, which has nothing else to ask the store for. */
const PLAIN = `
import { createLimiter, slidingWindow } from '@sluice/core'
import { upstash } from '@sluice/core/upstash'
export const limiter = createLimiter({
  store: upstash({ timeoutMs: 30_000 }),
  policies: [slidingWindow({ name: 'rpm', limit: 20, window: '1m', per: ['tenant'] })],
})`

const STORES = {
  'is down': {
    local: () => ({ url: 'http://127.0.0.1:1', token: 'none' }),
    code: 'store_unreachable',
  },
  'refuses scripts (NOPERM)': { local: () => rest, code: 'store_refused' },
}

describe.each(Object.entries(STORES))('a store that %s', (_, { local, code }) => {
  it.each(COMMANDS)('ends with its code for programs: sluice %s --json', async (command) => {
    const { app } = createOperator(local(), { more: CONFIGURATION })
    const ran = await app.sluice([...command.split(' '), '--json'])
    expect(jsonOf(ran)).toMatchObject({ error: { code, message: expect.stringContaining(code) } })
    expect(ran.exitCode).toBe(1)
  })

  it.each(COMMANDS.filter((command) => /^(show --|why.*route|reset)/.test(command)))(
    'ends with its code, also without settings to read: sluice %s --json',
    async (command) => {
      const { app } = createOperator(local())
      app.write('src/limits.ts', PLAIN)
      app.write('.env.local', envOf(local()))
      const ran = await app.sluice([...command.split(' '), '--json'])
      expect(jsonOf(ran)).toMatchObject({ error: { code } })
      expect(ran.exitCode).toBe(1)
    },
  )
})
