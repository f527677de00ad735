import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect } from 'vitest'
import { openBrowser, openDashboard } from './browser.ts'
import { startDemo, type Demo } from './demo.ts'

/** Starts a demo and a browser before the tests of a `describe`, and ends them after. */
export function openDemo() {
  let demo: Demo
  let browser: Browser
  beforeAll(async () => {
    demo = await startDemo()
    browser = await openBrowser()
  })
  afterAll(async () => {
    await browser.close()
    await demo[Symbol.asyncDispose]()
  })

  /** Opens a page that is closed at the end of the test, and fails it if a script failed. */
  async function withPage(
    options: Parameters<typeof openDashboard>[2],
    use: (page: Page) => Promise<void>,
  ): Promise<void> {
    const page = await openDashboard(browser, demo.url, options)
    const errors: string[] = []
    page.on('pageerror', (error) => errors.push(error.message))
    try {
      await use(page)
      expect(errors).toEqual([])
    } finally {
      await page.context().close()
    }
  }

  return { demo: () => demo, browser: () => browser, withPage }
}
