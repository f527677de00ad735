import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  clientsOf,
  settingsOf,
  startKeys,
  startProvider,
  upstreamsAt,
  type GatewayProvider,
} from './support/gateway.ts'

const scriptAt = (name: string): string =>
  fileURLToPath(new URL(`../../apps/worker/scripts/${name}`, import.meta.url))
const chat = { model: 'gpt-4o-mini', messages: [{ role: 'user' as const, content: 'Hello' }] }
const UNSET = {
  UPSTASH_REDIS_REST_URL: '',
  UPSTASH_REDIS_REST_TOKEN: '',
  OPENAI_API_KEY: '',
  ANTHROPIC_API_KEY: '',
}

type Environment = Record<string, string>

/** Starts the script on what was built before: a build would pull files away under other tests. */
function start(args: readonly string[], env: Environment = {}) {
  const child = spawn(process.execPath, [scriptAt('start.mjs'), '--no-build', ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...UNSET, ...env },
  })
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
async function started(env?: Environment) {
  const running = start(['--port', '0'], env)
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
      const [key = ''] = /sk-[\w-]{43}/.exec(output) ?? []
      const [, path = '', authorization = '', body = ''] =
        /curl (\S+) -H 'authorization: ([^']+)' -d '([^']+)'/.exec(output) ?? []
      const answer = await fetch(path, { method: 'POST', headers: { authorization }, body })
      expect(await answer.json()).toMatchObject({ choices: [{ message: { role: 'assistant' } }] })
      const { openai } = clientsOf(url, key)
      const { usage } = await openai.chat.completions.create(chat)
      expect(usage?.total_tokens).toBeGreaterThan(10)
      const [, store = ''] = /UPSTASH_REDIS_REST_URL=(\S+)/.exec(output) ?? []
      expect((await fetch(store)).status).toBe(401)
      expect(await stop(signal)).toEqual([0, null])
      await expect(fetch(url)).rejects.toThrow('fetch failed')
      await expect(fetch(store)).rejects.toThrow('fetch failed')
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
    [{ OPENAI_API_KEY: 'sk-operator' }, 'OPENAI_API_KEY is set, but no keys are'],
    [{ ANTHROPIC_API_KEY: 'sk-operator' }, 'ANTHROPIC_API_KEY is set, but no keys are'],
    [{ UPSTASH_REDIS_REST_URL: 'http://127.0.0.1:1' }, 'UPSTASH_REDIS_REST_TOKEN is not set'],
  ])('refuses to start with %j alone', async (env, message) => {
    const { code, output } = await ended([], env)
    expect(output).toContain(message)
    expect(output).not.toContain('sk-operator')
    expect(code).toBe(1)
  })

  it('prints its help', async () => {
    const { code, output } = await ended(['--help'])
    expect(output).toContain('Usage: npm run gateway -- [options]')
    expect(code).toBe(0)
  })
})

describe('npm run gateway, with a Redis and a provider', () => {
  let keys: Awaited<ReturnType<typeof startKeys>>
  let provider: GatewayProvider
  beforeAll(async () => {
    keys = await startKeys()
    provider = await startProvider()
  })
  afterAll(async () => {
    await provider[Symbol.asyncDispose]()
    await keys.store[Symbol.asyncDispose]()
  })

  it('refuses to start until there is a key, and makes none of its own', async () => {
    const env = { ...settingsOf(keys.store), ...upstreamsAt(provider) }
    const { code, output } = await ended([], env)
    expect(output).toContain('There is no key in this Redis')
    expect(code).toBe(1)
    const { key, id } = await keys.create()
    const { url, stop } = await started(env)
    const answer = await clientsOf(url, key).openai.chat.completions.create(chat)
    expect(answer.choices[0]?.message.content).toContain('sky')
    expect(provider.requests).toHaveLength(1)
    expect(await keys.run('list')).toMatch(new RegExp(`^${id} .*\n$`))
    expect(await stop('SIGINT')).toEqual([0, null])
  })
})

describe('npm run gateway:keys', () => {
  let keys: Awaited<ReturnType<typeof startKeys>>
  beforeAll(async () => {
    keys = await startKeys()
  })
  afterAll(() => keys.store[Symbol.asyncDispose]())

  it('creates keys of 256 random bits, lists them without the keys, and revokes one', async () => {
    const first = await keys.create('growth', 'acme')
    const second = await keys.create('starter', 'globex')
    expect(first.key).toMatch(/^sk-[\w-]{43}$/)
    expect(second.key).not.toBe(first.key)
    const list = await keys.run('list')
    expect(list).toMatch(new RegExp(`^${first.id} +acme +growth +\\d{4}-`, 'm'))
    expect(list).toMatch(new RegExp(`^${second.id} +globex +starter +\\d{4}-`, 'm'))
    expect(list).not.toContain(first.key)
    expect(await keys.run('revoke', first.id)).toContain(`${first.id} is revoked`)
    expect(await keys.run('list')).not.toContain(first.id)
    expect(await keys.run('list')).toContain(second.id)
  })

  it.each([
    [['create', '--plan', 'growth'], '--tenant must be'],
    [['create', '--tenant', 'two words', '--plan', 'growth'], '--tenant must be'],
    [['create', '--tenant', 'acme', '--plan', 'gold'], '--plan must be one of starter, growth'],
    [['create', '--tenant', 'acme', '--plan', 'constructor'], '--plan must be one of'],
    [['create', '--tenat', 'acme'], "Unknown option '--tenat'"],
    [['revoke', 'key_none'], 'There is no key with the id "key_none"'],
    [['revoke'], 'Usage:'],
    [['rotate'], 'Usage:'],
  ])('names the mistake in %j', async (args, text) => {
    const { code, stderr } = await run(args, settingsOf(keys.store))
    expect(stderr).toContain(text)
    expect(code).toBe(1)
  })

  it('says that Redis cannot be reached', async () => {
    const nowhere = { ...settingsOf(keys.store), UPSTASH_REDIS_REST_URL: 'http://127.0.0.1:1' }
    expect(await run(['list'], nowhere)).toEqual({ code: 1, stderr: 'Redis cannot be reached\n' })
  })

  it('asks for the settings of Redis', async () => {
    const variables = { UPSTASH_REDIS_REST_URL: '', UPSTASH_REDIS_REST_TOKEN: '' }
    const { code, stderr } = await run(['list'], variables)
    expect(stderr).toContain('Set UPSTASH_REDIS_REST_URL and UPSTASH_REDIS_REST_TOKEN')
    expect(code).toBe(1)
  })
})

async function run(args: readonly string[], variables: Record<string, string>) {
  const env = { ...process.env, ...variables }
  const child = spawn(process.execPath, [scriptAt('keys.mjs'), ...args], {
    env,
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let stderr = ''
  child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()))
  const [code] = (await once(child, 'close')) as [number | null]
  return { code, stderr }
}

it('env.ts, the README and npm run gateway have the same settings', async () => {
  const names = await namesIn('src/env.ts', /^ {2}readonly ([A-Z_]+)\?: string/gm)
  expect(names.size).toBeGreaterThan(5)
  expect(await namesIn('scripts/settings.mjs', /^ {2}'([A-Z_]+)',$/gm)).toEqual(names)
  // In the first column of its table.
  const listed = await namesIn('README.md', /(?<=^\|[^|]*)`([A-Z_]{5,})`/gm)
  expect(listed).toEqual(names)
})

/** The names that `pattern` finds in a file of the gateway. */
async function namesIn(path: string, pattern: RegExp): Promise<Set<string | undefined>> {
  const text = await readFile(new URL(`../../apps/worker/${path}`, import.meta.url), 'utf8')
  return new Set(Array.from(text.matchAll(pattern), ([, name]) => name))
}
