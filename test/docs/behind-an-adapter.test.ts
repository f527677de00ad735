import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { concurrency, createLimiter, fixedWindow } from '@sluice/core'
import { memory } from '@sluice/core/memory'
import { estimateRequest } from '@sluice/ai'
import { afterAll, afterEach, expect, it, vi } from 'vitest'
import { CHAT_JSON, CHAT_USAGE } from '../ai/recordings.ts'
import { readBlock } from '../support/docs-block.ts'
import { MODELS } from '../support/models.ts'

// Inside the workspace, so that the packages are found as a user's would be.
const folder = mkdtempSync(fileURLToPath(new URL('adapters-', import.meta.url)))
afterAll(() => {
  rmSync(folder, { recursive: true, force: true })
})
afterEach(() => vi.unstubAllGlobals())

const policies = [
  fixedWindow({ name: 'rpm', limit: 10, window: '366d', per: ['tenant'] }),
  fixedWindow({ name: 'tpm', limit: 9_000, window: '366d', per: ['tenant'], unit: 'token' }),
  concurrency({ name: 'in-flight', limit: 1, per: ['tenant'] }),
]
const limiter = createLimiter({ store: memory(), policies })
const tenantFromJwt = ({ headers }: Request) => ({ tenant: headers.get('x-tenant') ?? '' })
const kept: Promise<unknown>[] = []

interface Route {
  readonly POST: (request: Request, context: object) => Promise<Response>
}

/** Loads the route of the page on reservations, beside the reader's own files. */
async function loadRoute(): Promise<Route> {
  const code = readBlock('reservations.md', 'app/api/ai/chat/route.ts')
  const file = join(folder, 'route.ts')
  writeFileSync(
    join(folder, 'own.ts'),
    `export const { limiter, tenantFromJwt, after } = globalThis`,
  )
  writeFileSync(file, code.replace(/'(next\/server|\.\/auth|\.\/limits)'/g, `'./own.ts'`))
  return (await import(file)) as Route
}

async function left(tenant: string): Promise<number[]> {
  const { policies: states } = await limiter.peek({ tenant }, { cost: { token: 0, call: 0 } })
  return states.map(({ remaining }) => remaining)
}

const body = {
  model: MODELS.openai,
  max_tokens: 4_000,
  messages: [{ role: 'user', content: 'Why?' }],
}
const post = (tenant: string, sent: object = body) =>
  new Request('https://app.example/api/ai/chat', {
    method: 'POST',
    headers: { 'x-tenant': tenant },
    body: JSON.stringify(sent),
  })
const { input } = estimateRequest(body)
// The recorded answer reports its usage.
const used = CHAT_USAGE.prompt_tokens + CHAT_USAGE.completion_tokens

const keep = (promise: Promise<unknown>): void => void kept.push(promise)

it('a route handler reserves and settles with the lines of the page', async () => {
  const seen: number[][] = []
  const ask = vi.fn<() => Promise<Response>>(async () => {
    seen.push(await left('next'))
    return Response.json(CHAT_JSON)
  })
  for (const [name, value] of Object.entries({ ask, limiter, tenantFromJwt, after: keep })) {
    vi.stubGlobal(name, value)
  }
  const { POST } = await loadRoute()
  const response = await POST(post('next'), {})
  expect(await response.json()).toEqual(CHAT_JSON)
  await Promise.all(kept)
  expect(seen).toEqual([[9, 9_000 - 4_000 - input, 0]])
  expect(await left('next')).toEqual([9, 9_000 - used, 1])

  ask.mockRejectedValue(new Error('no answer'))
  await expect(POST(post('next'), {})).rejects.toThrow('no answer')
  await Promise.all(kept)
  expect(await left('next')).toEqual([8, 9_000 - used - 4_000 - input, 1])
})

it('a body that must not be sent costs a request', async () => {
  const ask = vi.fn<() => Promise<Response>>()
  for (const [name, value] of Object.entries({ ask, limiter, tenantFromJwt, after: keep })) {
    vi.stubGlobal(name, value)
  }
  const { POST } = await loadRoute()
  const response = await POST(post('refused', { ...body, service_tier: 'priority' }), {})
  expect(response.status).toBe(400)
  expect(await response.text()).toContain('body.service_tier')
  await Promise.all(kept)
  expect(await left('refused')).toEqual([9, 9_000, 1])
  expect(ask).not.toHaveBeenCalled()
})
