import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Limiter } from '@sluice/core'
import type { AdaptiveLimit, UpstreamBreaker } from '@sluice/core/upstream'
import type OpenAI from 'openai'
import { expect, it, vi } from 'vitest'
import { freshPrefix } from '../support/stores.ts'
import { MODELS } from '../support/models.ts'
import { PATIENTLY } from '../support/patience.ts'
import { patient, readBlock } from '../support/docs-block.ts'
import { pageFolder } from '../support/page-folder.ts'

const codeOf = (file: string): string => readBlock('upstream.md', file)

it('the page limits the calls of a client, and learns from them', async () => {
  const folder = await pageFolder('upstream')
  vi.stubEnv('OPENAI_API_KEY', 'test')
  const reach = globalThis.fetch
  const answer = { id: '1', object: 'chat.completion', model: MODELS.openai, choices: [] }
  vi.stubGlobal('fetch', async (input: string | URL | Request, init?: RequestInit) =>
    String(input instanceof Request ? input.url : input).includes('api.openai.com')
      ? Response.json({ ...answer, usage: { prompt_tokens: 5, completion_tokens: 5 } })
      : reach(input, init),
  )
  const limits = patient(codeOf('limits.ts'), freshPrefix())
  writeFileSync(join(folder, 'limits.ts'), limits)
  writeFileSync(join(folder, 'model.ts'), codeOf('model.ts'))
  const { limiter, model } = (await import(join(folder, 'limits.ts'))) as {
    limiter: Limiter
    model: AdaptiveLimit
  }
  const { openai } = (await import(join(folder, 'model.ts'))) as { openai: OpenAI }
  const ask = () =>
    openai.chat.completions
      .create(
        { model: MODELS.openai, messages: [{ role: 'user', content: 'hello' }] },
        { maxRetries: 0 },
      )
      // Denied: they ask for more than the limit.
      .catch(() => {})
  // As often as it takes: a step needs a second or two of calls that use the limit.
  await expect
    .poll(
      async () => {
        await Promise.all(Array.from({ length: 2 * model.limit }, ask))
        return model.limit
      },
      { timeout: 30_000, interval: 20 },
    )
    .toBeGreaterThan(4)
  await vi.waitFor(async () => {
    const { policies } = await limiter.peek({ tenant: 'acme' })
    expect(policies[0]?.remaining).toBe(policies[0]?.limit)
  }, PATIENTLY)
}, 60_000)

it('the page answers in place of an upstream that fails', async () => {
  const folder = await pageFolder('upstream')
  vi.stubGlobal('fetch', async () => new Response(null, { status: 503 }))
  writeFileSync(join(folder, 'answers.ts'), codeOf('answers.ts'))
  const { ask, answers } = (await import(join(folder, 'answers.ts'))) as {
    ask: (url: string) => Promise<Response>
    answers: UpstreamBreaker<Response>
  }
  for (let call = 0; call < 8; call += 1) {
    expect(await (await ask('https://model.example')).json()).toEqual({
      answer: 'Please ask again in a minute.',
    })
  }
  expect(answers.counts).toEqual({ calls: 5, failures: 5, fallbacks: 8 })
})
