/* The command `sluice` in the folder of the gateway, against one that runs. */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { runHere } from '../cli/run-here.ts'
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

const folder = fileURLToPath(new URL('../../apps/worker', import.meta.url))

/** An isolate reads settings once in five seconds. Each look is a call, of 60 a minute. */
const SLOWLY = { timeout: 30_000, interval: 700 }

interface Operated {
  readonly app: App
  /** The file with the settings of a terminal. */
  readonly env: string
}

let redis: Awaited<ReturnType<typeof startKeys>>
let files: string
let overObjects: Operated
let overRedis: Operated
beforeAll(async () => {
  redis = await startKeys()
  files = await mkdtemp(join(tmpdir(), 'sluice-operator-'))
  const settings = settingsOf(redis.store)
  const apps = await Promise.all([startGateway(OPERATED), startGateway(settings)])
  overObjects = { app: apps[0], env: await envFile(terminalOf(apps[0])) }
  overRedis = { app: apps[1], env: await envFile(settings) }
})
afterAll(async () => {
  await Promise.all([overObjects, overRedis].map(({ app }) => app.stop()))
  await redis.store[Symbol.asyncDispose]()
  await rm(files, { recursive: true })
})

async function envFile(variables: Readonly<Record<string, string>>): Promise<string> {
  const file = join(files, crypto.randomUUID())
  const lines = Object.entries({ STORE_TIMEOUT_MS, ...variables }).map((pair) => pair.join('='))
  await writeFile(file, lines.join('\n'))
  return file
}

/** Runs a command of the README, with the name of a key in place of its example. */
function run(env: string, command: string, id = '') {
  const words = command
    .replace(/ #.*/, '')
    .trim()
    .replace(/key_[0-9a-f]+/, id)
  const [program, name, ...args] = words.split(' ')
  expect([program, name]).toEqual(['npx', '@sluice/cli'])
  return runHere(folder, [...args, '--env', env])
}

const STORES = [
  ['Durable Objects', () => overObjects],
  ['Redis', () => overRedis],
] as const

describe.each(STORES)('the command, over %s', (_, operated) => {
  /** Returns the status of a call with a key. */
  const status = async (key: string): Promise<number> => {
    const body = { model: NAMED.openaiSmall, messages: [{ role: 'user', content: 'Hello' }] }
    const answer = await post(`${operated().app.url}/v1/chat/completions`, body, {
      'x-api-key': key,
    })
    await answer.text()
    return answer.status
  }
  const say = async (command: string, id?: string): Promise<string> => {
    const { out, err, exitCode } = await run(operated().env, command, id)
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
    await expect.poll(() => status(key), SLOWLY).toBe(429)
    await say(stop.replace(' stop ', ' start '))
    expect(await say(revoke, id)).toContain('revoked')
    expect(await say(list)).not.toContain(id)
  })

  it('gives a key its day back', async () => {
    const made = await say('npx @sluice/cli keys create --tenant globex --plan growth --yes')
    const [, key = '', id = ''] = /^(sk_[\w-]{43})\n(key_\w{16}) /.exec(made) ?? []
    expect(await status(key)).toBe(200)
    const reset = 'npx @sluice/cli reset --tenant globex --subject key=key_0 --policies key --yes'
    expect(await say(reset, id)).toMatch(/^key \(.+\): \$0\.\d+ used\n/)
    expect(await say(reset, id)).toContain('$0.00 used')
  })

  it('refuses a plan that src/limits.ts has not', async () => {
    const command = 'npx @sluice/cli keys create --tenant acme --plan gold'
    const { err, exitCode } = await run(operated().env, command)
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
    const { err, exitCode } = await run(await envFile(terminal), 'npx @sluice/cli show')
    expect({ err, exitCode }).toEqual({ err: expect.stringMatching(says), exitCode: 1 })
  })
})

it('without a token, nobody gets to the objects from outside', async () => {
  const answer = await post(`${overRedis.app.url}/sluice`, { name: 'home', message: '' }, {})
  expect(answer.status).toBe(404)
})
