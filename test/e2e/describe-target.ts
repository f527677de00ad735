import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { access } from './cases/access.ts'
import { limits } from './cases/limits.ts'
import { upstream } from './cases/upstream.ts'
import { startTarget, type App, type Settings, type Target } from './support/target.ts'

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
  })
}
