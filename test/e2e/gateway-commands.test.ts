import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { listApiKeys } from '@sluice/core/api-keys'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { PROVIDERS } from '../../apps/worker/src/providers.ts'
import { baseUrlVariable } from '../../apps/worker/src/providers/provider.ts'
import {
  clientsOf,
  settingsOf,
  startKeys,
  startProvider,
  upstreamsAt,
  type GatewayProvider,
} from './support/gateway.ts'
import { MODELS as NAMED } from '../support/models.ts'

const folder = fileURLToPath(new URL('../../apps/worker/', import.meta.url))
const chat = { model: NAMED.openaiSmall, messages: [{ role: 'user' as const, content: 'Hello' }] }
const UNSET = {
  STORE: '',
  SLUICE_OBJECTS_URL: '',
  SLUICE_OBJECTS_TOKEN: '',
  UPSTASH_REDIS_REST_URL: '',
  UPSTASH_REDIS_REST_TOKEN: '',
  OPENAI_API_KEY: '',
  ANTHROPIC_API_KEY: '',
}

const KEY = /sk_[\w-]{43}/

type Environment = Record<string, string>

/** Starts the script on what was built before: a build would pull files away under other tests. */
function start(args: readonly string[], env: Environment = {}) {
  const child = spawn(
    process.execPath,
    [join(folder, 'scripts/start.mjs'), '--no-build', ...args],
    {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, ...UNSET, ...env },
    },
  )
  const running = { child, output: '', closed: once(child, 'close') }
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => (running.output += chunk.toString()))
  }
  return running
}

async function ended(args: readonly string[], env?: Environment) {
  const running = start(args, env)
  const [code] = (await running.closed) as [number | null]
  return { code, output: running.output }
}

/** Starts the gateway on a free port; resolves once it answers. */
async function started(env?: Environment, args: readonly string[] = []) {
  const running = start(['--port', '0', ...args], env)
  await expect
    .poll(() => running.output, { timeout: 60_000 })
    .toMatch(/Ctrl-C ends everything|must|set/)
  const [url = ''] = /http:\/\/127\.0\.0\.1:\d+/.exec(running.output) ?? []
  const stop = async (signal: NodeJS.Signals) => {
    running.child.kill(signal)
    return running.closed
  }
  return { output: running.output, url, stop }
}

describe('npm run gateway', () => {
  it.each(['SIGINT', 'SIGTERM'] as const)(
    'starts without any setting, prints what a client needs, and ends everything on %s',
    async (signal) => {
      const { output, url, stop } = await started()
      expect(output).toContain(`baseURL  ${url}/v1`)
      const [key = ''] = KEY.exec(output) ?? []
      const [, path = '', authorization = '', body = ''] =
        /curl (\S+) -H 'authorization: ([^']+)' -d '([^']+)'/.exec(output) ?? []
      const answer = await fetch(path, { method: 'POST', headers: { authorization }, body })
      expect(await answer.json()).toMatchObject({ choices: [{ message: { role: 'assistant' } }] })
      const { openai } = clientsOf(url, key)
      const { usage } = await openai.chat.completions.create(chat)
      expect(usage?.total_tokens).toBeGreaterThan(10)
      expect(output).toContain('Keys and budgets end with this process.')
      expect((await fetch(`${url}/sluice`, { method: 'POST' })).status).toBe(401)
      expect(await stop(signal)).toEqual([0, null])
      await expect(fetch(url)).rejects.toThrow('fetch failed')
    },
  )

  it.each([
    [['--prot', '3000'], "Unknown option '--prot'"],
    [['--port', 'http'], '--port must be a number from 0 to 65535, not "http"'],
    [['start'], "Unexpected argument 'start'"],
  ])('names the mistake in %j', async (args, message) => {
    expect(await ended(args)).toEqual({ code: 1, output: expect.stringContaining(message) })
  })

  it.each([
    [{ UPSTASH_REDIS_REST_TOKEN: 'local' }, 'UPSTASH_REDIS_REST_URL is not set'],
    [{ UPSTASH_REDIS_REST_URL: 'http://127.0.0.1:1' }, 'UPSTASH_REDIS_REST_TOKEN is not set'],
    [{ STORE: 'redis' }, 'UPSTASH_REDIS_REST_URL: is not set'],
    [
      { OPENAI_API_KEY: 'a', AZURE_API_KEY: 'b', AZURE_BASE_URL: 'https://mine.example/openai/v1' },
      'openai and azure offer it: list openai/',
    ],
  ])('refuses to start with %j alone', async (env, message) => {
    expect(await ended([], env)).toEqual({ code: 1, output: expect.stringContaining(message) })
  })

  it('prints its help', async () => {
    const { code, output } = await ended(['--help'])
    expect(output).toContain('Usage: npm run gateway -- [options]')
    expect(code).toBe(0)
  })
})

/** Makes a call, and returns what the month's budget has left. */
async function monthLeft(url: string, key: string): Promise<number> {
  const { response } = await clientsOf(url, key).openai.chat.completions.create(chat).withResponse()
  return Number(/"budget.monthly";r=(\d+)/.exec(response.headers.get('ratelimit') ?? '')?.[1])
}

describe('npm run gateway, with a provider', () => {
  let keys: Awaited<ReturnType<typeof startKeys>>
  let provider: GatewayProvider
  let state: string
  beforeAll(async () => {
    keys = await startKeys()
    provider = await startProvider()
    state = await mkdtemp(join(tmpdir(), 'sluice-gateway-'))
  })
  afterAll(async () => {
    await provider[Symbol.asyncDispose]()
    await keys.store[Symbol.asyncDispose]()
    await rm(state, { recursive: true })
  })

  it('makes a key, and keeps it over a restart with what it has spent, for one gateway at a time', async () => {
    const env = upstreamsAt(provider)
    const first = await started(env, ['--state', state])
    expect(first.output).toContain(`Keys and budgets are kept in ${state}.`)
    const [key = ''] = KEY.exec(first.output) ?? []
    const before = await monthLeft(first.url, key)
    // Two of them would write over each other's budgets.
    const beside = await ended(['--port', '0', '--state', state], env)
    expect(beside).toEqual({
      code: 1,
      output: expect.stringContaining(`budgets in ${state}: end it`),
    })
    await first.stop('SIGINT')
    const second = await started(env, ['--state', state])
    expect(await monthLeft(second.url, key)).toBeLessThan(before)
    await second.stop('SIGINT')
  })

  it('does not share a folder with workerd of a gateway that was killed', async () => {
    const left = createServer().listen(0, '127.0.0.1')
    await once(left, 'listening')
    const { port } = left.address() as AddressInfo
    const other = join(state, 'left')
    await mkdir(other)
    // No process has so high an id.
    await writeFile(join(other, 'gateway.pid'), `999999999 ${port}`)
    const refused = await ended(['--port', '0', '--state', other], upstreamsAt(provider))
    expect(refused).toEqual({
      code: 1,
      output: expect.stringContaining(`The process at port ${port}, perhaps workerd of a gateway`),
    })
    left.close()
    await once(left, 'close')
    const { stop } = await started(upstreamsAt(provider), ['--state', other])
    expect(await stop('SIGINT')).toEqual([0, null])
  })

  it('with a Redis, makes no key, and says how to create one', async () => {
    const env = { ...settingsOf(keys.store), ...upstreamsAt(provider) }
    const { url, output, stop } = await started(env, ['--state', join(state, 'redis')])
    expect(output).toContain('npx @sluice/cli keys create --tenant acme --plan growth --yes')
    expect(output).not.toMatch(KEY)
    const { key } = await keys.create()
    const answer = await clientsOf(url, key).openai.chat.completions.create(chat)
    expect(answer.choices[0]?.message.content).toContain('sky')
    expect(await listApiKeys(keys.limiter, 'demo')).toEqual([])
    expect(await stop('SIGINT')).toEqual([0, null])
  })
})

it('env.ts, the README and npm run gateway have the same settings', async () => {
  const names = await namesIn('src/env.ts', /^ {2}readonly ([A-Z_]+)\?: string/gm)
  expect(names.size).toBeGreaterThan(5)
  expect(await listIn('VARIABLES')).toEqual(names)
  // At the beginnings of a list.
  const listed = await namesIn('README.md', /(?<=^- (?:`[A-Z_]+`, )?)`([A-Z_]{5,})`/gm)
  expect(listed).toEqual(names)
})

it('the README and npm run gateway name the key and the address of each ready-made provider', async () => {
  const keys = new Set(PROVIDERS.map(({ key }) => key))
  expect(
    new Set(PROVIDERS.map((one) => baseUrlVariable(one).replace(/BASE_URL$/, 'API_KEY'))),
  ).toEqual(keys)
  expect(await namesIn('README.md', /^- `[a-z-]+`, `([A-Z_]+_API_KEY)`:/gm)).toEqual(keys)
  const named = Array.from(await listIn('PROVIDERS'), (name) => `${name}_API_KEY`)
  expect(new Set(named)).toEqual(keys)
})

/** The names in a list of `npm run gateway`. */
async function listIn(constant: string): Promise<Set<string | undefined>> {
  const settings = await readFile(join(folder, 'scripts/settings.mjs'), 'utf8')
  const [, list = ''] = settings.split(`const ${constant} = [`)
  const [items = ''] = list.split(']')
  return new Set(Array.from(items.matchAll(/'(\w+)'/g), ([, name]) => name))
}

/** The names that `pattern` finds in a file of the gateway. */
async function namesIn(path: string, pattern: RegExp): Promise<Set<string | undefined>> {
  const text = await readFile(join(folder, path), 'utf8')
  return new Set(Array.from(text.matchAll(pattern), ([, name]) => name))
}
