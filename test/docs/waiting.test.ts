import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Limiter } from '@sluice/core'
import { beforeEach, expect, it, vi } from 'vitest'
import { CHAT_JSON } from '../ai/recordings.ts'
import { freshPrefix } from '../support/stores.ts'
import { MODELS } from '../support/models.ts'
import { patient, readBlock } from '../support/docs-block.ts'
import { pageFolder } from '../support/page-folder.ts'

let folder: string

/** Writes and loads a file of the page. */
async function load<Module>(file: string, change = (code: string) => code): Promise<Module> {
  writeFileSync(join(folder, file), change(readBlock('waiting.md', file)))
  return (await import(join(folder, file))) as Module
}

/** The limits of the page, of one request in a short window. */
const loadLimits = (window = '1s') =>
  load<{ readonly limiter: Limiter }>('limits.ts', (code) =>
    patient(code, freshPrefix()).replace(
      "limit: 60, window: '1m'",
      `limit: 1, window: '${window}'`,
    ),
  )

beforeEach(async () => {
  folder = await pageFolder('waiting')
})

const ask = (signal?: AbortSignal): Request =>
  new Request('https://app.example/api/ai/chat', {
    method: 'POST',
    headers: { 'x-tenant': 'acme' },
    body: JSON.stringify({ model: MODELS.openai, messages: [{ role: 'user', content: 'Why?' }] }),
    ...(signal && { signal }),
  })

it('the server of the page answers all, one after another', async () => {
  const { limiter } = await loadLimits()
  const { default: serve } = await load<{
    readonly default: (request: Request) => Promise<Response>
  }>('server.ts')
  const begun = Date.now()
  const answers = await Promise.all([1, 2, 3].map(() => serve(ask())))
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200])
  expect(Date.now() - begun).toBeGreaterThanOrEqual(2_000)
  expect((await limiter.peek({ tenant: 'acme' })).policies[1]?.fits).toBe(true)
})

it('the model handler of the page waits, until its client hangs up', async () => {
  // Long enough for a busy machine to hang up within it.
  const { limiter } = await loadLimits('4s')
  const reach = globalThis.fetch
  const model = vi.fn<() => Response>(() => Response.json(CHAT_JSON))
  vi.stubGlobal('fetch', async (input: string | URL | Request, init?: RequestInit) =>
    String(input instanceof Request ? input.url : input).includes('api.openai.com')
      ? model()
      : reach(input, init),
  )
  vi.stubEnv('OPENAI_API_KEY', 'test')
  const { POST } = await load<{ readonly POST: (request: Request) => Promise<Response> }>('chat.ts')
  expect((await POST(ask())).status).toBe(200)
  const client = new AbortController()
  const gone = POST(ask(client.signal))
  const other = POST(ask())
  const isHeld = async () => (await limiter.peek({ tenant: 'acme' })).violated?.name
  await expect.poll(isHeld).toMatch(/^rpm/)
  client.abort()
  await gone
  expect((await other).status).toBe(200)
  expect(model).toHaveBeenCalledTimes(2)
})
