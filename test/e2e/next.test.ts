import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { chat } from './cases/chat.ts'
import { describeTarget } from './describe-target.ts'
import { startNext } from './support/next-app.ts'
import { ask, burst, startTarget, withinOneDay, type Target } from './support/target.ts'
import { signed } from './support/tokens.ts'

describeTarget('next start, limited in edge middleware', startNext)

describe('the demo', () => {
  let demo: Target | undefined
  const url = (): string => demo?.url ?? ''
  beforeAll(async () => {
    vi.stubEnv('DEMO_TOKENS', 'local')
    demo = await startTarget(startNext)
    vi.unstubAllEnvs()
  })
  afterAll(() => demo?.[Symbol.asyncDispose]())

  it('was built with its middleware for the edge runtime', () => {
    const path = new URL('../../apps/demo/.next/server/middleware-manifest.json', import.meta.url)
    const { middleware } = JSON.parse(readFileSync(path, 'utf8')) as {
      middleware: Record<string, { files: string[] }>
    }
    expect(middleware['/']?.files.join()).toContain('server/edge/')
  })

  it('shows a Node route handler the counts of edge middleware', () =>
    withinOneDay(async () => {
      const token = await signed({ tenant: `e2e-${randomUUID()}`, plan: 'growth' })
      const headers = { authorization: `Bearer ${token}` }
      await burst(7, () => ask({ url: url() }, '/api/ai/probe', headers.authorization))
      for (const look of ['first', 'second']) {
        const answer = await fetch(`${url()}/api/limits?route=probe`, { headers })
        expect(await answer.json(), `at the ${look} look`).toMatchObject({
          plan: 'growth',
          degraded: false,
          policies: [
            { name: 'daily', limit: 2_000, remaining: 1_993 },
            { name: 'rpm', limit: 60, remaining: 53 },
          ],
        })
      }
    }))

  it.each(['starter-1', 'growth-1', 'professional-1', 'enterprise-1', 'trial-1'])(
    'gives a token to %s, a tenant of the demo',
    async (tenant) => {
      const { status, body } = await requestToken({ tenant })
      expect(status).toBe(200)
      const answer = await ask({ url: url() }, '/api/ai/probe', `Bearer ${body.token}`)
      expect(answer.status).toBe(200)
    },
  )

  it.each([{ tenant: 'someone' }, { tenant: 7 }, null])(
    'gives no token to %j',
    async (question) => {
      const { status, body } = await requestToken(question)
      expect(status).toBe(404)
      expect(body.token).toBeUndefined()
    },
  )

  describe('/api/chat', () => {
    beforeEach(() => demo?.upstream.reset())

    it.each(chat)('$claim', async ({ check }) => {
      expect.hasAssertions()
      await check(demo as Target)
    })
  })

  async function requestToken(question: unknown) {
    const body = JSON.stringify(question)
    const answer = await fetch(`${url()}/api/demo/token`, { method: 'POST', body })
    return { status: answer.status, body: (await answer.json()) as { token?: string } }
  }
})
