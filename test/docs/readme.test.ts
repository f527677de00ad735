import { execFileSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { startLocal, type LocalServer } from '@sluice/local'
import { afterAll, beforeAll, describe, expect, inject, it, vi } from 'vitest'
import { typeCheck } from '../support/type-check.ts'
import { isOurs, PUBLIC_PACKAGES } from '../packaging/public-packages.ts'
import { MODELS } from '../support/models.ts'
import { patient } from '../support/docs-block.ts'

const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8')

let folder: string
let server: LocalServer

beforeAll(async () => {
  server = await startLocal({ redisUrl: inject('redisUrl') })
  vi.stubEnv('UPSTASH_REDIS_REST_URL', server.url)
  vi.stubEnv('UPSTASH_REDIS_REST_TOKEN', server.token)
  vi.stubEnv('OPENAI_API_KEY', 'sk-of-a-test')
  // Inside the workspace, so that the packages are found as a user's would be.
  folder = mkdtempSync(fileURLToPath(new URL('readme-', import.meta.url)))
  // The part that the app has already.
  writeFileSync(
    join(folder, 'app.ts'),
    `export const handle = (): Response => Response.json({ answer: 42 })
    export function tenantOf(request: Request): { tenant: string } | null {
      const tenant = request.headers.get('x-tenant')
      return tenant === null ? null : { tenant }
    }`,
  )
  const blocks = readme.matchAll(/```ts\n\/\/ ([\w-]+\.ts)\n([\s\S]*?)```/g)
  for (const [, name = '', code = ''] of blocks) {
    writeFileSync(
      join(folder, name),
      patient(code).replace("'.sluice'", `'${join(folder, '.sluice')}'`),
    )
  }
})

afterAll(async () => {
  vi.unstubAllEnvs()
  rmSync(folder, { recursive: true, force: true })
  await server.close()
})

describe("the README's code", () => {
  it('type-checks under strict options', () => {
    const files = ['assistant.ts', 'server.ts']
    expect(typeCheck(folder, files, '')).toBe('')
  })

  it('is loaded by Node.js as it is', () => {
    const printed = ['assistant.ts', 'server.ts'].map((file) =>
      execFileSync(process.execPath, [file], { cwd: folder, env: process.env, encoding: 'utf8' }),
    )
    expect(printed).toEqual(['', ''])
  })

  it('holds each tenant of a client to a budget, without Redis', async () => {
    // The day of the budget must not end in between.
    vi.useFakeTimers({ toFake: ['Date'] })
    const prompts: unknown[] = []
    vi.stubGlobal('fetch', async (_: string, init: RequestInit) => {
      prompts.push(JSON.parse(init.body as string))
      // All of the five dollars.
      const usage = { input_tokens: 0, output_tokens: 500_000, total_tokens: 500_000 }
      return Response.json({ model: MODELS.openai, output: [], usage })
    })
    const { answer } = (await import(join(folder, 'assistant.ts'))) as {
      answer: (tenant: string, input: string) => Promise<unknown>
    }
    await answer('acme', 'Why?')
    await expect(answer('acme', 'Why?')).rejects.toMatchObject({ status: 429 })
    await answer('globex', 'Why?')
    vi.unstubAllGlobals()
    vi.useRealTimers()
    expect(prompts).toHaveLength(2)
  })

  it('limits a route: 20 a minute for a tenant, and 401 for nobody', async () => {
    const { default: serve } = (await import(join(folder, 'server.ts'))) as {
      default: (request: Request) => Promise<Response>
    }
    const headers = { 'x-tenant': `readme-${Date.now()}` }
    const call = (sent: HeadersInit = headers) =>
      serve(new Request('https://app.example/api/ai/chat', { headers: sent }))
    // One after the other: what the README shows has the default timeout, and a busy machine may
    // well keep one of many at once waiting for longer.
    const answers: Response[] = []
    for (let sent = 0; sent < 25; sent += 1) answers.push(await call())
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(20)
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(5)
    expect((await call({})).status).toBe(401)
    // The headers that the README shows of a denial are the headers of a denial.
    const denied = answers.at(-1)
    const shown = /```http\n([\s\S]*?)\n\n([\s\S]*?)```/.exec(readme)
    const names = shown?.[1]?.split('\n').slice(1) ?? []
    for (const line of names) expect(denied?.headers.has(line.split(':')[0] ?? '')).toBe(true)
    const body = (await denied?.json()) as object
    expect(Object.keys(body)).toEqual(Object.keys(JSON.parse(shown?.[2] ?? '') as object))
  })
})

it('the README is one screen after another, not a book', () => {
  expect(readme.split('\n').length).toBeLessThanOrEqual(120)
  expect(Buffer.byteLength(readme)).toBeLessThanOrEqual(9_000)
})

it('each entry of the index of the docs is one short line', () => {
  const index = readFileSync(new URL('../../docs/README.md', import.meta.url), 'utf8')
  const entries = [...index.matchAll(/^- \[.+?\]\(.+?\): (.+)$/gm)].map(([, text = '']) => text)
  expect(entries.length).toBeGreaterThan(70)
  expect(entries.filter((text) => text.replaceAll(/\(\S+\)/g, '').split(' ').length > 15)).toEqual(
    [],
  )
})

it('packs with each package all of ours that it cannot do without', () => {
  const packed = [...readme.matchAll(/^npm pack (.*)$/gm)].map(([, options = '']) =>
    Array.from(options.matchAll(/-w (@sluice\/\w+)/g), ([, name = '']) => name),
  )
  expect(packed.flat()).toContain('@sluice/core')
  for (const names of packed) {
    const needed = PUBLIC_PACKAGES.filter(({ manifest }) => names.includes(manifest.name)).flatMap(
      ({ manifest: { dependencies, peerDependencies, peerDependenciesMeta = {} } }) =>
        Object.keys({ ...dependencies, ...peerDependencies }).filter(
          (name) => isOurs(name) && !peerDependenciesMeta[name]?.optional,
        ),
    )
    expect(needed.filter((name) => !names.includes(name))).toEqual([])
  }
})

describe("the README's commands", () => {
  it('are scripts of the project', () => {
    const { scripts } = JSON.parse(
      readFileSync(new URL('../../package.json', import.meta.url), 'utf8'),
    ) as { scripts: Record<string, string> }
    const commands = Array.from(
      readme.matchAll(/^npm ci && npm (?:run )?(\w+)/gm),
      ([, name]) => name,
    )
    expect(commands).toEqual(['demo', 'test'])
    for (const name of commands) expect(scripts).toHaveProperty(name ?? '')
  })

  it('pack into the folder of an app that is not there yet', () => {
    const app = join(folder, 'my-app')
    const commands = (
      /^mkdir [^]*?(?=cd )|^npm pack [^]*?(?=cd )/m.exec(readme)?.[0] ?? ''
    ).replaceAll('../my-app', app)
    execFileSync('sh', ['-ec', commands], {
      cwd: fileURLToPath(new URL('../..', import.meta.url)),
      stdio: 'pipe',
    })
    expect(readdirSync(app)).toHaveLength(commands.match(/ -w /g)?.length ?? 0)
  })
})
