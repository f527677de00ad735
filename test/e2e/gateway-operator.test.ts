/* The command `sluice` in the folder of the gateway, against one that runs. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { COMMAND, runIn } from '../cli/project.ts'
import {
  OPERATED,
  post,
  settingsOf,
  startGateway,
  startKeys,
  terminalOf,
} from './support/gateway.ts'
import { STORE_TIMEOUT_MS, type App } from './support/target.ts'
import { MODELS as NAMED } from '../support/models.ts'

const folder = fileURLToPath(new URL('../../apps/worker/', import.meta.url))
const NOTHING = {
  STORE: '',
  SLUICE_OBJECTS_URL: '',
  SLUICE_OBJECTS_TOKEN: '',
  UPSTASH_REDIS_REST_URL: '',
  UPSTASH_REDIS_REST_TOKEN: '',
}

let redis: Awaited<ReturnType<typeof startKeys>>
let gateways: Readonly<Record<string, { app: App; terminal: Record<string, string> }>>
beforeAll(async () => {
  redis = await startKeys()
  const settings = settingsOf(redis.store)
  const [overObjects, overRedis] = await Promise.all([
    startGateway(OPERATED),
    startGateway(settings),
  ])
  gateways = {
    'Durable Objects': { app: overObjects, terminal: terminalOf(overObjects) },
    Redis: { app: overRedis, terminal: settings },
  }
})
afterAll(async () => {
  await Promise.all(Object.values(gateways).map(({ app }) => app.stop()))
  await redis.store[Symbol.asyncDispose]()
})

/** Runs a command of the README, with the name of a key in place of its example. */
function run(terminal: Record<string, string>, command: string, id = '') {
  const words = command
    .replace(/ #.*/, '')
    .trim()
    .replace(/key_[0-9a-f]+/, id)
  const [program, name, ...args] = words.split(' ')
  expect([program, name]).toEqual(['npx', '@sluice/cli'])
  return runIn(folder, process.execPath, [COMMAND, ...args], {
    ...NOTHING,
    STORE_TIMEOUT_MS,
    ...terminal,
  })
}

describe.each(['Durable Objects', 'Redis'])('the command, over %s', (store) => {
  /** What the gateway answers to a call with a key. */
  const status = async (key: string): Promise<number> => {
    const body = { model: NAMED.openaiSmall, messages: [{ role: 'user', content: 'Hello' }] }
    const { url } = gateways[store]?.app as App
    const answer = await post(`${url}/v1/chat/completions`, body, { 'x-api-key': key })
    await answer.text()
    return answer.status
  }
  const say = async (command: string, id?: string): Promise<string> => {
    const { out, err, exitCode } = await run(gateways[store]?.terminal ?? {}, command, id)
    expect({ command, err, exitCode }).toEqual({ command, err: '', exitCode: 0 })
    return out
  }

  it('creates, lists and revokes keys, shows, explains and stops, as the README says', async () => {
    const readme = await readFile(join(folder, 'README.md'), 'utf8')
    const [, section = ''] = readme.split('\n## Keys\n')
    const [, block = ''] = /```sh\n([^`]+)\n```/.exec(section) ?? []
    const [create = '', list = '', revoke = '', show = '', why = '', stop = ''] = block.split('\n')
    const made = await say(create)
    const [, key = '', id = ''] = /^(sk_[\w-]{43})\n(key_\w{16}) /.exec(made) ?? []
    expect(await status(key)).toBe(200)
    const listed = await say(list)
    expect(listed).toContain(id)
    expect(listed).not.toContain(key)
    expect(await say(show)).toMatch(/rpm +1 +60 +59 +request/)
    expect(await say(why)).toContain('Allowed')
    await say(stop)
    await expect.poll(() => status(key), { timeout: 30_000 }).toBe(429)
    await say(stop.replace(' stop ', ' start '))
    await expect.poll(() => status(key), { timeout: 30_000 }).toBe(200)
    expect(await say(revoke, id)).toContain('revoked')
    await expect.poll(() => status(key), { timeout: 30_000 }).toBe(401)
  })

  it('refuses a plan that src/limits.ts has not', async () => {
    const command = 'npx @sluice/cli keys create --tenant acme --plan gold'
    const { err, exitCode } = await run(gateways[store]?.terminal ?? {}, command)
    expect(err).toContain('no plan "gold"; there are starter, growth, professional, enterprise')
    expect(exitCode).toBe(1)
  })
})

describe('the settings of a terminal', () => {
  it.each([
    [{}, /set SLUICE_OBJECTS_URL and SLUICE_OBJECTS_TOKEN/],
    [{ UPSTASH_REDIS_REST_URL: 'http://127.0.0.1:1' }, /UPSTASH_REDIS_REST_TOKEN: is not set/],
    [
      {
        SLUICE_OBJECTS_URL: 'http://127.0.0.1:1/sluice',
        SLUICE_OBJECTS_TOKEN: 'x'.repeat(32),
        UPSTASH_REDIS_REST_URL: 'http://127.0.0.1:1',
        UPSTASH_REDIS_REST_TOKEN: 'local',
      },
      /STORE: must be set, because SLUICE_OBJECTS_URL and UPSTASH_REDIS_REST_URL are/,
    ],
  ])('%j are refused with their remedy', async (terminal, says) => {
    const { err, exitCode } = await run(terminal as never, 'npx @sluice/cli show')
    expect({ err, exitCode }).toEqual({ err: expect.stringMatching(says), exitCode: 1 })
  })
})

it('without a token, nobody gets to the objects from outside', async () => {
  const { url } = gateways['Redis']?.app as App
  const answer = await post(`${url}/sluice`, { name: 'home', message: '' }, {})
  expect(answer.status).toBe(404)
})
