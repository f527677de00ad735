import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { listApiKeys } from '@sluice/core/api-keys'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { keyVerifier } from '../../apps/worker/src/keys.ts'
import { COMMAND, runIn } from '../cli/project.ts'
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
  UPSTASH_REDIS_REST_URL: '',
  UPSTASH_REDIS_REST_TOKEN: '',
  OPENAI_API_KEY: '',
  ANTHROPIC_API_KEY: '',
}

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
      const [key = ''] = /sk_[\w-]{43}/.exec(output) ?? []
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

  it('makes no key of its own, and says how to create one', async () => {
    const env = { ...settingsOf(keys.store), ...upstreamsAt(provider) }
    const { url, output, stop } = await started(env)
    expect(output).toContain('npx @sluice/cli keys create --tenant acme --plan growth --yes')
    expect(output).not.toMatch(/sk_[\w-]{43}/)
    const { key } = await keys.create()
    const answer = await clientsOf(url, key).openai.chat.completions.create(chat)
    expect(answer.choices[0]?.message.content).toContain('sky')
    expect(provider.requests).toHaveLength(1)
    expect(await listApiKeys(keys.limiter, 'demo')).toEqual([])
    expect(await stop('SIGINT')).toEqual([0, null])
  })
})

describe('sluice keys, in the folder of the gateway', () => {
  let keys: Awaited<ReturnType<typeof startKeys>>
  beforeAll(async () => {
    keys = await startKeys()
  })
  afterAll(() => keys.store[Symbol.asyncDispose]())

  /** Runs a command on the README, in place of its example of a key. */
  const run = (command: string, id = '') => {
    const [program = '', name = '', ...args] = command.replace(/key_[0-9a-f]+/, id).split(' ')
    expect([program, name]).toEqual(['npx', '@sluice/cli'])
    return runIn(folder, process.execPath, [COMMAND, ...args], settingsOf(keys.store))
  }

  it('creates, lists and revokes a key as the README shows', async () => {
    const readme = await readFile(join(folder, 'README.md'), 'utf8')
    const [, section = ''] = readme.split('\n## Keys\n')
    const [, block = ''] = /```sh\n([^`]+)\n```/.exec(section) ?? []
    const [create = '', list = '', revoke = ''] = block.split('\n')
    const made = await run(create)
    const [, key = '', id = ''] = /^(sk_[\w-]{43})\n(key_\w{16}) /.exec(made.out) ?? []
    const verify = () => keyVerifier(keys.limiter)(withKey(key))
    expect(await verify()).toMatchObject({ tenant: 'acme', plan: 'growth', key: id })
    const listed = (await run(list)).out
    expect(listed).toContain(id)
    expect(listed).not.toContain(key)
    expect((await run(revoke, id)).out).toContain('revoked')
    expect(await verify()).toMatchObject({ options: { status: 401 } })
  })

  it('refuses a plan that src/limits.ts has not', async () => {
    const { err, exitCode } = await run('npx @sluice/cli keys create --tenant acme --plan gold')
    expect(err).toContain('no plan "gold"; there are starter, growth, professional, enterprise')
    expect(exitCode).toBe(1)
  })

  it('asks for the settings of Redis', async () => {
    const nothing = settingsOf({ url: '', token: '' })
    const { err } = await runIn(folder, process.execPath, [COMMAND, 'show'], nothing)
    expect(err).toContain('UPSTASH_REDIS_REST_URL: is not set')
  })
})

const withKey = (key: string): Request =>
  new Request('http://gateway.example', { headers: { 'x-api-key': key } })

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
  const text = await readFile(join(folder, path), 'utf8')
  return new Set(Array.from(text.matchAll(pattern), ([, name]) => name))
}
