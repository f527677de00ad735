import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { startLocal, type LocalServer } from '@sluice/local'
import { afterAll, beforeAll, expect, inject, it, vi } from 'vitest'
import { MODELS } from '../support/models.ts'
import { patient } from '../support/docs-block.ts'

const page = readFileSync(new URL('../../docs/llm.md', import.meta.url), 'utf8')

let folder: string
let server: LocalServer

beforeAll(async () => {
  server = await startLocal({ redisUrl: inject('redisUrl') })
  vi.stubEnv('UPSTASH_REDIS_REST_URL', server.url)
  vi.stubEnv('UPSTASH_REDIS_REST_TOKEN', server.token)
  vi.stubEnv('OPENAI_API_KEY', 'sk-of-a-test')
  // Inside the workspace, so that the packages are found as a user's would be.
  folder = mkdtempSync(fileURLToPath(new URL('llm-', import.meta.url)))
  const [, code = ''] = /```ts\n([^]*?)```/.exec(page) ?? []
  writeFileSync(join(folder, 'chat.ts'), patient(code))
  writeFileSync(
    join(folder, 'auth.ts'),
    `export function tenantFromJwt(request: Request): { tenant: string } | null {
      const tenant = request.headers.get('x-tenant')
      return tenant === null ? null : { tenant }
    }`,
  )
})

afterAll(async () => {
  vi.unstubAllEnvs()
  rmSync(folder, { recursive: true, force: true })
  await server.close()
})

it('the first example of the page holds a model call to a budget', async () => {
  const { POST } = (await import(join(folder, 'chat.ts'))) as {
    POST: (request: Request) => Promise<Response>
  }
  const { fetch } = globalThis
  const toModel: unknown[] = []
  vi.stubGlobal('fetch', (url: string, init: RequestInit) => {
    if (!url.startsWith('https://api.openai.com/')) return fetch(url, init)
    toModel.push(JSON.parse(init.body as string))
    const usage = { prompt_tokens: 9, completion_tokens: 3 }
    return Promise.resolve(Response.json({ model: MODELS.openai, choices: [], usage }))
  })
  const known = { 'x-tenant': `llm-${Date.now()}` }
  const ask = (model: string, headers: HeadersInit) =>
    POST(
      new Request('https://app.example/api/chat', {
        method: 'POST',
        headers,
        body: JSON.stringify({ model, messages: [{ role: 'user', content: 'Why?' }] }),
      }),
    )
  const answers = [
    await ask(MODELS.openai, known),
    await ask('gpt-none', known),
    await ask(MODELS.openai, {}),
  ]
  vi.unstubAllGlobals()
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 401])
  expect(answers[0]?.headers.get('ratelimit')).toContain('"budget.daily"')
  const max_completion_tokens = expect.any(Number) as number
  const sent = [MODELS.openai, 'gpt-none'].map((model) => ({ model, max_completion_tokens }))
  expect(toModel).toMatchObject(sent)
})
