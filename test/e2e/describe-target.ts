import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { access } from './cases/access.ts'
import { limits } from './cases/limits.ts'
import { upstream } from './cases/upstream.ts'
import { ask, startTarget, type App, type Settings, type Target } from './support/target.ts'
import { SECRET, signed } from './support/tokens.ts'

/** Makes every claim about one runtime. */
export function describeTarget(name: string, startApp: (settings: Settings) => Promise<App>): void {
  describe.each([name])('%s', () => {
    let target: Target | undefined
    beforeAll(async () => {
      target = await startTarget(startApp)
    })
    afterAll(() => target?.[Symbol.asyncDispose]())
    beforeEach(() => target?.upstream.reset())

    it.each([...limits, ...access, ...upstream])('$claim', async ({ check }) => {
      expect.hasAssertions()
      await check(target as Target)
    })

    it('answers by itself without a model and without a store', async () => {
      const app = await startApp({
        storeUrl: 'http://127.0.0.1:1',
        storeToken: 'none',
        upstreamUrl: '',
        upstreamKey: '',
        secret: SECRET,
      })
      try {
        const authorization = `Bearer ${await signed({ tenant: 'e2e', plan: 'starter' })}`
        const answer = await ask(app, '/api/ai/evaluate', authorization)
        expect(answer.status).toBe(200)
        expect(answer.headers.get('content-type')).toContain('text/event-stream')
        expect(answer.headers.get('x-ratelimit-remaining')).toBe('19')
        const events = (await answer.text()).trimEnd().split('\n\n')
        expect(events.length).toBeGreaterThan(5)
        expect(events.at(-1)).toBe('data: [DONE]')
      } finally {
        await app.stop()
      }
    })
  })
}
