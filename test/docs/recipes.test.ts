import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { usd } from '@sluice/ai'
import type { Limiter } from '@sluice/core'
import { jsonSchema, tool, type ToolSet } from 'ai'
import { MockLanguageModelV4 } from 'ai/test'
import { SignJWT } from 'jose'
import { afterAll, afterEach, describe, expect, it, vi } from 'vitest'
import { importBlock } from '../support/docs-block.ts'
import { MODELS } from '../support/models.ts'

// Inside the workspace, so that the packages are found as a user's would be.
const folder = mkdtempSync(fileURLToPath(new URL('recipes-', import.meta.url)))
afterAll(() => {
  rmSync(folder, { recursive: true, force: true })
})
afterEach(() => {
  vi.unstubAllGlobals()
  vi.useRealTimers()
})

const blockOf = <Exports>(page: string, name: string): Promise<Exports> =>
  importBlock<Exports>(folder, page, name)

describe('a free tier by address', () => {
  it('lets visitors pass 20 times a day, and tenants 60 times a minute', async () => {
    vi.stubGlobal('handle', () => new Response('answer'))
    writeFileSync(join(folder, 'auth.ts'), 'export const { tenantFromJwt } = globalThis')
    vi.stubGlobal('tenantFromJwt', ({ headers }: Request) => {
      const tenant = headers.get('x-tenant')
      return tenant === null ? null : { tenant }
    })
    const { serve } = await blockOf<{ serve: (request: Request) => Promise<Response> }>(
      'recipes/free-tier.md',
      'free-tier.ts',
    )
    const passed = async (headers: Record<string, string>, sent: number) => {
      let count = 0
      for (let index = 0; index < sent; index += 1) {
        if ((await serve(new Request('https://app.example/api/x', { headers }))).ok) count += 1
      }
      return count
    }
    expect(await passed({ 'x-real-ip': '192.0.2.7' }, 25)).toBe(20)
    expect(await passed({ 'x-real-ip': '192.0.2.7', 'x-tenant': 'acme' }, 65)).toBe(60)
    expect(await passed({ 'x-real-ip': '192.0.2.8' }, 25)).toBe(20)
    expect(await passed({}, 1)).toBe(0)
  })
})

describe('who is not limited', () => {
  it('is an administrator by a signed role, and a health check, and nobody else', async () => {
    const secret = 'a secret of at least thirty-two bytes'
    vi.stubGlobal('handle', () => new Response('answer'))
    vi.stubEnv('JWT_SECRET', secret)
    const { serve } = await blockOf<{ serve: (request: Request) => Promise<Response> }>(
      'recipes/exemptions.md',
      'exemptions.ts',
    )
    const passed = async (claims: object | undefined, path = '/api/x', method = 'GET') => {
      const jwt =
        claims &&
        (await new SignJWT({ ...claims })
          .setProtectedHeader({ alg: 'HS256' })
          .setExpirationTime('5m')
          .sign(new TextEncoder().encode(secret)))
      const headers = { role: 'admin', ...(jwt && { authorization: `Bearer ${jwt}` }) }
      let count = 0
      for (let sent = 0; sent < 65; sent += 1) {
        const url = `https://app.example${path}`
        if ((await serve(new Request(url, { method, headers }))).ok) count += 1
      }
      return count
    }
    expect(await passed({ sub: 'ann', role: 'admin' })).toBe(65)
    expect(await passed({ sub: 'billing', role: 'service' })).toBe(65)
    const { serviceToken } = await blockOf<{ serviceToken: (name: string) => Promise<string> }>(
      'recipes/exemptions.md',
      'service.ts',
    )
    const authorization = `Bearer ${await serviceToken('billing')}`
    const asked = new Request('https://app.example/api/x', { headers: { authorization } })
    expect((await serve(asked)).headers.has('x-ratelimit-limit')).toBe(false)
    expect(await passed({ sub: 'bob', role: 'member' })).toBe(60)
    expect(await passed({ sub: 'eve', role: 'guest' })).toBe(60)
    expect(await passed({ sub: 'fay' })).toBe(0)
    expect(await passed(undefined, '/api/health')).toBe(65)
    expect(await passed(undefined, '/api/health', 'POST')).toBe(0)
    expect(await passed(undefined, '/api/health/../x')).toBe(0)
    expect(await passed(undefined)).toBe(0)
    vi.unstubAllEnvs()
  })
})

describe('an allowance of 5 hours and of 7 days from first use', () => {
  it('decides by both at once, and shows their ends', async () => {
    const HOUR = 3_600_000
    const start = Date.UTC(2026, 10, 2, 9, 17)
    vi.useFakeTimers({ now: start })
    const { limiter, allowances } = await blockOf<{
      limiter: Limiter
      allowances: (subject: object) => Promise<object[]>
    }>('recipes/allowance.md', 'allowance.ts')
    const pro = { user: 'u_17', plan: 'pro' }
    const spend = (dollars: number) => limiter.check(pro, { cost: { usd: usd(dollars) } })
    const shown = async () => (await allowances(pro)).map((one) => Object.values(one))

    expect(await shown()).toEqual([
      ['week', 1, undefined],
      ['hours', 1, undefined],
    ])
    const weekEnd = start + 168 * HOUR
    for (let day = 0; day < 5; day += 1) {
      const first = start + day * 24 * HOUR
      vi.setSystemTime(first)
      expect((await spend(1)).allowed).toBe(true)
      vi.setSystemTime(first + 2 * HOUR)
      expect((await spend(3)).allowed).toBe(true)
      expect(await shown()).toEqual([
        ['week', (4 - day) / 5, new Date(weekEnd)],
        ['hours', 0, new Date(first + 5 * HOUR)],
      ])
      const name = day < 4 ? 'hours' : 'week'
      const retryAfterMs = day < 4 ? 3 * HOUR : weekEnd - Date.now()
      expect(await spend(1)).toMatchObject({ allowed: false, violated: { name }, retryAfterMs })
    }
    // Denied by the week: the hours do not begin.
    vi.setSystemTime(start + 120 * HOUR)
    expect((await spend(1)).allowed).toBe(false)
    expect((await shown())[1]).toEqual(['hours', 1, undefined])
    vi.setSystemTime(weekEnd - 1)
    expect(await spend(1)).toMatchObject({ allowed: false, retryAfterMs: 1 })
    vi.setSystemTime(weekEnd)
    expect((await spend(1)).allowed).toBe(true)
    expect(await shown()).toEqual([
      ['week', 0.95, new Date(weekEnd + 168 * HOUR)],
      ['hours', 0.75, new Date(weekEnd + 5 * HOUR)],
    ])
    await limiter.reset(pro, { policies: ['hours'] })
    expect((await shown())[1]).toEqual(['hours', 1, undefined])
  })
})

describe('webhooks', () => {
  it('wait for their turn, and go back to the queue if it is far ahead', async () => {
    const { limiter } = await blockOf<{ limiter: Limiter }>('recipes/webhooks.md', 'deliver.ts')
    const turns = []
    for (let sent = 0; sent < 102; sent += 1) {
      const { allowed, delayMs } = await limiter.check({ endpoint: 'https://app.example/hook' })
      turns.push(allowed ? Math.round(delayMs / 200) : 'denied')
    }
    expect(turns.slice(0, 3)).toEqual([0, 1, 2])
    expect(turns.at(-1)).toBe('denied')
    expect(await limiter.check({ endpoint: 'https://app.example/other' })).toMatchObject({
      allowed: true,
      delayMs: 0,
    })
  })

  it('are accepted by their sender, and wrong signatures cost their address', async () => {
    vi.stubGlobal('handle', () => new Response('answer'))
    vi.stubGlobal('senderOf', async ({ headers }: Request) => headers.get('x-sender') ?? undefined)
    const { serve } = await blockOf<{ serve: (request: Request) => Promise<Response> }>(
      'recipes/webhooks.md',
      'accept.ts',
    )
    const send = async (headers: Record<string, string>) => {
      const sent = { 'x-forwarded-for': '192.0.2.7', ...headers }
      const url = 'https://app.example/webhooks/pay'
      return (await serve(new Request(url, { method: 'POST', headers: sent, body: '{}' }))).status
    }
    expect(await send({ 'x-sender': 'pay' })).toBe(200)
    const guesses: number[] = []
    for (let sent = 0; sent < 31; sent += 1) guesses.push(await send({}))
    expect(guesses.filter((status) => status === 401)).toHaveLength(30)
    expect(guesses.at(-1)).toBe(429)
  })
})

interface AgentExample {
  readonly limiter: Limiter
  readonly runAgent: (
    gpt: MockLanguageModelV4,
    tools: ToolSet,
    subject: { tenant: string; run: string },
  ) => Promise<{ text: string; steps: readonly unknown[] }>
}

/** Usage of so many cents: a model that costs a cent per 5,000 tokens of input, and per 1,000 of output. */
const usageOf = (cents: number) => {
  const total = (cents - 0.05) * 5_000
  return {
    inputTokens: { total, noCache: total, cacheRead: 0, cacheWrite: 0 },
    outputTokens: { total: 50, text: 50, reasoning: 0 },
  }
}

describe('the agent of the page', () => {
  it('has up to 30 steps, and answers before its budget is spent', async () => {
    const { limiter, runAgent } = await blockOf<AgentExample>('recipes/agent.md', 'run-agent.ts')
    const look = tool({ inputSchema: jsonSchema({ type: 'object' }), execute: () => 'nothing' })
    const call = { type: 'tool-call', toolCallId: '1', toolName: 'look', input: '{}' }
    const gpt = (cents: number) =>
      new MockLanguageModelV4({
        modelId: MODELS.openai,
        doGenerate: async ({ toolChoice }) => {
          const isLast = toolChoice?.type === 'none'
          return {
            content: [isLast ? { type: 'text', text: 'That is all.' } : call],
            finishReason: { unified: isLast ? 'stop' : 'tool-calls' },
            usage: usageOf(cents),
            warnings: [],
          } as never
        },
      })
    const cheap = await runAgent(gpt(0.5), { look }, { tenant: 'acme', run: 'r1' })
    expect([cheap.steps.length, cheap.text]).toEqual([30, ''])
    const dear = await runAgent(gpt(2), { look }, { tenant: 'acme', run: 'r2' })
    expect(dear.text).toBe('That is all.')
    const { policies } = await limiter.peek({ tenant: 'acme', run: 'r2' }, { cost: { usd: 0 } })
    expect(policies[1]).toMatchObject({ remaining: usd(0.5 - dear.steps.length * 0.02) })
    // 16 steps leave 18 cents, which is less than 20: the 17th answers.
    expect(dear.steps).toHaveLength(17)
  })
})
