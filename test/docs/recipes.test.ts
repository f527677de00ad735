import { mkdtempSync, rmSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { usd } from '@sluice/ai'
import type { Limiter } from '@sluice/core'
import { jsonSchema, tool, type ToolSet } from 'ai'
import { MockLanguageModelV4 } from 'ai/test'
import { afterAll, describe, expect, it } from 'vitest'
import { limitsIn } from '../support/decisions.ts'
import { importBlock } from '../support/docs-block.ts'

// Inside the workspace, so that the packages are found as a user's would be.
const folder = mkdtempSync(fileURLToPath(new URL('recipes-', import.meta.url)))
afterAll(() => {
  rmSync(folder, { recursive: true, force: true })
})

const blockOf = <Exports>(page: string, name: string): Promise<Exports> =>
  importBlock<Exports>(folder, page, name)

describe('budgets for an organisation', () => {
  it('have a default, and for some a limit of their own', async () => {
    const { limiter, raise } = await blockOf<{ limiter: Limiter; raise: () => Promise<void> }>(
      'policies.md',
      'organisation.ts',
    )
    await raise()
    const ask = (subject: object) =>
      limiter.peek({ team: 'search', key: 'k', run: 'r', ...subject }, { cost: { usd: 1 } })
    const [org, team, user, key, run] = [500, 100, 5, 2, 0.5].map(usd)
    const defaults = { org, team, user, key, run }
    expect(limitsIn(await ask({ org: 'other', user: 'u_17' }))).toEqual(defaults)
    const raised = { ...defaults, org: usd(2_000) }
    expect(limitsIn(await ask({ org: 'acme', user: 'u_18' }))).toEqual(raised)
    expect(limitsIn(await ask({ org: 'acme', user: 'u_17' }))).toEqual({ ...raised, user: usd(20) })
    expect((await ask({ org: 'acme', user: 'u_18', run: undefined })).skipped).toMatchObject([
      { name: 'run', why: 'missing_dimension' },
    ])
  })
})

describe('a limit of its own for each tenant', () => {
  it('applies from the sale on, and others keep the default', async () => {
    const { limiter, sell } = await blockOf<{
      limiter: Limiter
      sell: (tenant: string, dollars: number) => Promise<void>
    }>('configuration.md', 'tenants.ts')
    await sell('acme', 250)
    const ask = (tenant: string) => limiter.check({ tenant }, { cost: { usd: usd(100) } })
    expect(await ask('acme')).toMatchObject({ allowed: true, policies: [{ limit: usd(250) }] })
    expect(await ask('other')).toMatchObject({ allowed: false, policies: [{ limit: usd(50) }] })
  })
})

interface AgentExample {
  readonly limiter: Limiter
  readonly runAgent: (
    gpt: MockLanguageModelV4,
    tools: ToolSet,
    id: string,
  ) => Promise<{ text: string; steps: readonly unknown[] }>
}

/** Usage of so many cents: gpt-4o costs a cent per 4,000 tokens of input, and per 1,000 of output. */
const usageOf = (cents: number) => {
  const total = (cents - 0.05) * 4_000
  return {
    inputTokens: { total, noCache: total, cacheRead: 0, cacheWrite: 0 },
    outputTokens: { total: 50, text: 50, reasoning: 0 },
  }
}

describe('the agent of the page', () => {
  it('has up to 30 steps, and answers before its budget is spent', async () => {
    const { limiter, runAgent } = await blockOf<AgentExample>('llm.md', 'agent.ts')
    const look = tool({ inputSchema: jsonSchema({ type: 'object' }), execute: () => 'nothing' })
    const call = { type: 'tool-call', toolCallId: '1', toolName: 'look', input: '{}' }
    const gpt = (cents: number) =>
      new MockLanguageModelV4({
        modelId: 'gpt-4o',
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
    const cheap = await runAgent(gpt(0.5), { look }, 'r1')
    expect([cheap.steps.length, cheap.text]).toEqual([30, ''])
    const dear = await runAgent(gpt(2), { look }, 'r2')
    expect(dear.text).toBe('That is all.')
    const { policies } = await limiter.peek({ run: 'r2' }, { cost: { usd: 0 } })
    expect(policies[0]).toMatchObject({ remaining: usd(0.5 - dear.steps.length * 0.02) })
    // 16 steps leave 18 cents, which is less than 20: the 17th answers.
    expect(dear.steps).toHaveLength(17)
  })
})
