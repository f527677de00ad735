import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { startLocal } from '@sluice/local'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const script = fileURLToPath(new URL('../../scripts/demo/main.mjs', import.meta.url))

/** The output of the drive, whatever the store. */
const PRINTED = [
  '✓ bulk import: starter-import has 20 allowed, 180 denied by rpm',
  '✓ bulk import: starter-near has 15 allowed',
  '✓ bulk import: growth-near has 15 allowed',
  '✓ bulk import: professional-near has 15 allowed',
  '✓ bulk import: enterprise-near has 15 allowed',
  '✓ retry storm: growth-storm has 60 allowed, 200 denied by rpm',
  '✓ daily quota: trial-day has 50 allowed, 10 denied by daily',
  // Each call is reserved with 0.0040 dollars and costs 0.0015: the 33rd does not fit any more.
  /^The agent made \d+ calls in \d+ rounds: 32 were let through, \d+ refused for its budget/m,
  /It spent \$0\.0471 of \$0\.0500\.$/m,
  /^The falling budget answered 42 of 42 calls, \d+ by gpt-6\.2-sol, \d+ by gpt-6\.1-terra, \d+ by gpt-6-luna;/m,
]

describe('npm run demo -- --drive', () => {
  let pathWithoutRedis = ''
  beforeAll(async () => {
    pathWithoutRedis = await mkdtemp(join(tmpdir(), 'sluice-path-'))
    await symlink(process.execPath, join(pathWithoutRedis, 'node'))
  })
  afterAll(() => rm(pathWithoutRedis, { recursive: true }))

  it('keeps to its limits on a redis-server', async () => {
    const { code, output } = await demo(['--drive', '--engine', 'redis-server'])
    expect(output).toContain('with a redis-server of its own')
    for (const line of PRINTED) expect(output).toMatch(line)
    expect(output).toContain(
      '✓ an allowed request is one request to the store, and a denied one at',
    )
    expect(output).toContain('✓ runaway agent: a model call is at most two requests to the store')
    expect(output).toContain('All 24 checks held.')
    expect(code).toBe(0)
  })

  it('keeps to its limits without a Redis, on the embedded engine', async () => {
    const { code, output } = await demo(['--drive'], { PATH: pathWithoutRedis })
    expect(output).toContain('with the embedded engine')
    for (const line of PRINTED) expect(output).toMatch(line)
    expect(output).toContain('All 24 checks held.')
    expect(code).toBe(0)
  })

  it('uses Upstash when its address and token are set', async () => {
    await using upstash = await startLocal({ engine: 'redis-server' })
    const { code, output } = await demo(['--drive'], {
      UPSTASH_REDIS_REST_URL: upstash.url,
      UPSTASH_REDIS_REST_TOKEN: upstash.token,
    })
    expect(output).toContain(`with Upstash at ${new URL(upstash.url).host}`)
    expect(output).toContain('All 22 checks held.')
    // Calls at once share a request.
    expect(upstash.requests).toBeGreaterThan(100)
    expect(code).toBe(0)
  })
})

describe('npm run demo', () => {
  it('prints its address, answers there, and ends everything on SIGTERM', async () => {
    const child = start(['--port', '0', '--engine', 'embedded'])
    const exited = once(child, 'exit')
    const url = await printed(child, /http:\/\/127\.0\.0\.1:\d+/)
    const page = await fetch(url)
    expect(page.status).toBe(200)
    expect(await page.text()).toContain('Sluice')
    child.kill('SIGTERM')
    expect(await exited).toEqual([0, null])
    await expect(fetch(url)).rejects.toThrow('fetch failed')
  })

  it('gives all tenants their GPU back with a reset', () =>
    withDemo(async (url) => {
      const answered = await fetch(`${url}/api/demo/token`, {
        method: 'POST',
        body: '{"tenant":"enterprise-1"}',
      })
      const { token } = (await answered.json()) as { token: string }
      const send = (route: string) =>
        fetch(`${url}/api/ai/${route}`, {
          method: 'POST',
          headers: { authorization: `Bearer ${token}` },
          body: '{"input":"x"}',
        })
      const routes = ['summarize', 'summarize-unshared']
      for (const route of routes) {
        const answers = await Promise.all(Array.from({ length: 41 }, () => send(route)))
        expect(answers.map(({ status }) => status)).toContain(429)
      }
      expect((await fetch(`${url}/api/demo/reset`, { method: 'POST' })).status).toBe(204)
      for (const route of routes) {
        const { headers } = await send(route)
        expect(headers.get('ratelimit')).toMatch(/"gpu(-unshared)?";r=39/)
      }
    }))

  it('imports in bulk beside neighbours, who are mostly refused without fair shares only', () =>
    withDemo(async (url) => {
      const answer = await fetch(`${url}/api/demo/scenarios/bulk-import`, { method: 'POST' })
      const { failed, conclusion } = (await answer.json()) as { failed: number; conclusion: string }
      expect(failed).toBe(0)
      const [, without, unshared, within, shared] =
        /without shares: (\d+) of the neighbours’ (\d+) .* shares: (\d+) of the neighbours’ (\d+)/
          .exec(conclusion)
          ?.map(Number) ?? []
      expect(Number(without) / Number(unshared), `in: ${conclusion}`).toBeLessThan(0.75)
      expect(Number(within) / Number(shared), `in: ${conclusion}`).toBeGreaterThanOrEqual(0.9)
    }))

  it('answers each call of a budget that falls through three models, beside one that refuses', () =>
    withDemo(async (url) => {
      const answer = await fetch(`${url}/api/demo/scenarios/falling-budget`, { method: 'POST' })
      const { failed, conclusion } = (await answer.json()) as { failed: number; conclusion: string }
      expect(failed).toBe(0)
      expect(conclusion).toMatch(/^starter-1: 42 of 42 calls answered, \d+ by gpt-6\.2-sol, /)
      expect(conclusion).toMatch(/ by gpt-6-luna\. starter-2, with one model: [23]\d of 42\.$/)
    }))

  it.each([
    [['--prot', '3000'], "Unknown option '--prot'"],
    [['--port', 'http'], '--port must be a number from 0 to 65535, not "http"'],
    [['--engine', 'mysql'], '--engine must be redis-server or embedded, not "mysql"'],
    [['drive'], "Unexpected argument 'drive'"],
  ])('names the mistake in %j', async (args, message) => {
    const { code, output } = await demo(args)
    expect(output).toContain(message)
    expect(code).toBe(1)
  })

  it('refuses half of the credentials of Upstash', async () => {
    const { code, output } = await demo([], { UPSTASH_REDIS_REST_URL: 'https://example.invalid' })
    expect(output).toContain('UPSTASH_REDIS_REST_TOKEN is not set')
    expect(code).toBe(1)
  })

  it('prints its help', async () => {
    const { code, output } = await demo(['--help'])
    expect(output).toContain('Usage: npm run demo -- [options]')
    expect(code).toBe(0)
  })
})

type Environment = Record<string, string | undefined>

/** Starts the script on what was built before: a build would pull files away under other tests. */
function start(args: readonly string[], env: Environment = {}) {
  const credentials = { UPSTASH_REDIS_REST_URL: undefined, UPSTASH_REDIS_REST_TOKEN: undefined }
  return spawn(process.execPath, [script, '--no-build', ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...credentials, ...env },
  })
}

async function demo(args: readonly string[], env?: Environment) {
  const child = start(args, env)
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => (output += chunk.toString()))
  }
  const [code] = (await once(child, 'close')) as [number | null]
  return { code, output }
}

/** Starts a demo with its embedded engine, and ends it after `use`. */
async function withDemo(use: (url: string) => Promise<void>): Promise<void> {
  // On a busy machine the default timeout would make the demo count locally, from zero.
  const env = { STORE_TIMEOUT_MS: '15000', DEMO_MODEL_LATENCY_MS: '40' }
  const child = start(['--port', '0', '--engine', 'embedded'], env)
  const exited = once(child, 'exit')
  try {
    await use(await printed(child, /http:\/\/127\.0\.0\.1:\d+/))
  } finally {
    child.kill('SIGTERM')
    await exited
  }
}

async function printed(child: ReturnType<typeof start>, pattern: RegExp): Promise<string> {
  let output = ''
  for await (const chunk of child.stdout) {
    output += String(chunk)
    const match = pattern.exec(output)?.[0]
    if (match !== undefined) return match
  }
  throw new Error(`It ended without printing its address:\n${output}`)
}
