import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { startLocal, type LocalServer } from '@sluice/local'
import { SignJWT } from 'jose'
import { NextRequest } from 'next/server.js'
import { afterAll, beforeAll, describe, expect, inject, it, vi } from 'vitest'
import { typeCheck, WORKER_GLOBALS } from '../support/type-check.ts'

const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8')
const SECRET = 'a secret of at least thirty-two bytes'

let folder: string
let server: LocalServer

beforeAll(async () => {
  server = await startLocal({ redisUrl: inject('redisUrl') })
  vi.stubEnv('UPSTASH_REDIS_REST_URL', server.url)
  vi.stubEnv('UPSTASH_REDIS_REST_TOKEN', server.token)
  vi.stubEnv('JWT_SECRET', SECRET)
  vi.stubEnv('OPENAI_API_KEY', 'sk-of-a-test')
  // Inside the workspace, so that the packages are found as a user's would be.
  folder = mkdtempSync(fileURLToPath(new URL('readme-', import.meta.url)))
  const blocks = readme.matchAll(/```ts\n\/\/ ([\w-]+\.ts)\n([\s\S]*?)```/g)
  for (const [, name = '', code = ''] of blocks) {
    writeFileSync(join(folder, name), code.replace("'.sluice'", `'${join(folder, '.sluice')}'`))
  }
})

afterAll(async () => {
  vi.unstubAllEnvs()
  rmSync(folder, { recursive: true, force: true })
  await server.close()
})

describe("the README's code", () => {
  it('type-checks under strict options', () => {
    const files = [
      'assistant.ts',
      'limits.ts',
      'proxy.ts',
      'auth.ts',
      'chat.ts',
      'worker.ts',
      'handler.ts',
      'server.ts',
    ]
    expect(typeCheck(folder, files, WORKER_GLOBALS)).toBe('')
  })

  it('limits a Next.js app: 20 a minute for a starter tenant, and 401 for nobody', async () => {
    const { proxy } = (await import(join(folder, 'proxy.ts'))) as {
      proxy: (request: NextRequest) => Promise<Response>
    }
    const jwt = await new SignJWT({ tenant: `readme-${Date.now()}`, plan: 'starter' })
      .setProtectedHeader({ alg: 'HS256' })
      .setExpirationTime('5m')
      .sign(new TextEncoder().encode(SECRET))
    const call = (authorization?: string) =>
      proxy(
        new NextRequest('https://app.example/api/ai/evaluate', {
          headers: authorization === undefined ? {} : { authorization },
        }),
      )
    // One after the other: what the README shows has the default timeout, and a busy machine may
    // well keep one of many at once waiting for longer.
    const statuses: number[] = []
    for (let sent = 0; sent < 25; sent += 1) statuses.push((await call(`Bearer ${jwt}`)).status)
    expect(statuses.filter((status) => status === 200)).toHaveLength(20)
    expect(statuses.filter((status) => status === 429)).toHaveLength(5)
    expect((await call()).status).toBe(401)
  })

  it('holds a model call to a budget', async () => {
    vi.stubEnv('OPENAI_API_KEY', 'sk-test')
    const { POST } = (await import(join(folder, 'chat.ts'))) as {
      POST: (request: Request) => Promise<Response>
    }
    const jwt = await new SignJWT({ tenant: `readme-chat-${Date.now()}`, plan: 'starter' })
      .setProtectedHeader({ alg: 'HS256' })
      .setExpirationTime('5m')
      .sign(new TextEncoder().encode(SECRET))
    const { fetch } = globalThis
    const toModel: unknown[] = []
    vi.stubGlobal('fetch', (url: string, init: RequestInit) => {
      if (!url.startsWith('https://api.openai.com/')) return fetch(url, init)
      toModel.push(JSON.parse(init.body as string))
      const usage = { prompt_tokens: 9, completion_tokens: 3 }
      return Promise.resolve(Response.json({ model: 'gpt-4o', choices: [], usage }))
    })
    const ask = (model: string, authorization: string) =>
      POST(
        new Request('https://app.example/api/chat', {
          method: 'POST',
          headers: { authorization },
          body: JSON.stringify({ model, messages: [{ role: 'user', content: 'Why?' }] }),
        }),
      )
    const answers = [await ask('gpt-4o', `Bearer ${jwt}`), await ask('gpt-none', `Bearer ${jwt}`)]
    answers.push(await ask('gpt-4o', 'Bearer none'))
    vi.unstubAllGlobals()
    expect(answers.map(({ status }) => status)).toEqual([200, 400, 401])
    expect(answers[0]?.headers.get('ratelimit')).toContain('"budget.daily"')
    expect(toModel).toMatchObject([{ model: 'gpt-4o', max_completion_tokens: 4_096 }])
  })

  it('holds each tenant of a client to a budget, without Redis', async () => {
    const prompts: unknown[] = []
    vi.stubGlobal('fetch', async (_: string, init: RequestInit) => {
      prompts.push(JSON.parse(init.body as string))
      // All of the five dollars.
      const usage = { input_tokens: 0, output_tokens: 500_000, total_tokens: 500_000 }
      return Response.json({ model: 'gpt-4o', output: [], usage })
    })
    const { answer } = (await import(join(folder, 'assistant.ts'))) as {
      answer: (tenant: string, input: string) => Promise<unknown>
    }
    await answer('acme', 'Why?')
    await expect(answer('acme', 'Why?')).rejects.toMatchObject({ status: 429 })
    await answer('globex', 'Why?')
    vi.unstubAllGlobals()
    expect(prompts).toHaveLength(2)
  })

  it('limits a Worker', async () => {
    const { default: worker } = (await import(join(folder, 'worker.ts'))) as {
      default: { fetch(request: Request, env: object, ctx: object): Promise<Response> }
    }
    const env = {
      UPSTASH_REDIS_REST_URL: server.url,
      UPSTASH_REDIS_REST_TOKEN: server.token,
    }
    const headers = { 'x-tenant': `readme-worker-${Date.now()}` }
    const statuses: number[] = []
    for (let sent = 0; sent < 65; sent += 1) {
      const request = new Request('https://app.example/api/ai/chat', { headers })
      statuses.push((await worker.fetch(request, env, {})).status)
    }
    expect(statuses.filter((status) => status === 429)).toHaveLength(5)
  })

  it('limits any handler of the fetch shape', async () => {
    const { default: serve } = (await import(join(folder, 'server.ts'))) as {
      default: (request: Request) => Promise<Response>
    }
    expect((await serve(new Request('https://app.example/api/ai/chat'))).status).toBe(401)
    expect((await serve(new Request('https://app.example/health'))).status).toBe(200)
  })

  it('limits a plain handler', async () => {
    const { handler } = (await import(join(folder, 'handler.ts'))) as {
      handler: (request: Request) => Promise<Response>
    }
    const headers = { 'x-tenant': `readme-handler-${Date.now()}` }
    const request = new Request('https://app.example/', { headers })
    const answers = []
    for (let call = 0; call < 13; call += 1) answers.push(await handler(request))
    // 60 a minute at a cost of 5 each.
    expect(answers.filter((answer) => answer.status === 200)).toHaveLength(12)
    const denied = answers.at(-1)
    expect(denied?.status).toBe(429)
    // The headers that the README shows of a denial are the headers of a denial.
    const shown = /```http\n([\s\S]*?)\n\n([\s\S]*?)```/.exec(readme)
    const names = shown?.[1]?.split('\n').slice(1) ?? []
    for (const line of names) expect(denied?.headers.has(line.split(':')[0] ?? '')).toBe(true)
    const body = (await denied?.json()) as object
    expect(Object.keys(body)).toEqual(Object.keys(JSON.parse(shown?.[2] ?? '') as object))
  })
})

describe("the README's features", () => {
  it('lead to a page each', () => {
    const [, table = ''] = /^## Features\n([^]*?)\n## /m.exec(readme) ?? []
    const rows = table.split('\n').filter((line) => /^\| (?!feature|-)/.test(line))
    expect(rows.length).toBeGreaterThan(30)
    expect(rows.filter((row) => !/^\| \[[^\]]+\]\([^)]+\)/.test(row))).toEqual([])
  })
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
})
