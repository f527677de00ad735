import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { AxeBuilder } from '@axe-core/playwright'
import { slidingWindow } from '@sluice/core'
import { openLog, policySet, replay, suggestLimits } from '@sluice/replay'
import { renderHtml } from '@sluice/replay/html'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { azureTrace } from '../replay/azure-trace.ts'
import { readTrace } from '../trace/trace.ts'
import { BROWSER, openBrowser } from './dashboard/browser.ts'

const folder = mkdtempSync(join(tmpdir(), 'replay-page-'))
const file = join(folder, 'report.html')

const setOf = (limit: number): ReturnType<typeof policySet> =>
  policySet(`${limit} a minute`, {
    policies: [slidingWindow({ name: 'rpm', limit, window: '1m', per: ['tenant'] })],
  })

async function writeReport(): Promise<void> {
  const path = join(folder, 'trace.csv')
  writeFileSync(path, azureTrace(readTrace()))
  const log = await openLog(path, { tenants: 200, model: 'gpt-4o' })
  const result = await replay(log.calls(), [setOf(4), setOf(30)])
  const suggestion = await suggestLimits(() => log.calls(), setOf(30), { except: ['t0'] })
  writeFileSync(
    file,
    await renderHtml({ title: 'trace.csv', replay: result, facts: log.facts, suggestion }),
  )
}

describe.skipIf(BROWSER === undefined)('the page of a replay in a browser', () => {
  let browser: Browser
  beforeAll(async () => {
    await writeReport()
    browser = await openBrowser()
  })
  afterAll(async () => {
    await browser.close()
    rmSync(folder, { recursive: true, force: true })
  })

  async function open(
    colorScheme: 'light' | 'dark',
    width: number,
  ): Promise<{ page: Page; requests: string[] }> {
    const viewport = { width, height: 800 }
    // axe adds a script of its own, which the page's policy refuses.
    const context = await browser.newContext({ colorScheme, viewport, bypassCSP: true })
    const page = await context.newPage()
    const requests: string[] = []
    page.on('request', (request) => requests.push(request.url()))
    await page.goto(pathToFileURL(file).href)
    return { page, requests }
  }

  it.each([
    ['light', 1280],
    ['dark', 390],
  ] as const)(
    'has nothing that axe finds, and no sideways scroll: %s, %i px',
    async (scheme, width) => {
      const { page, requests } = await open(scheme, width)
      for (const summary of await page.locator('summary').all()) await summary.click()
      const { violations } = await new AxeBuilder({ page }).analyze()
      expect(violations.map(({ id, nodes }) => [id, nodes[0]?.html])).toEqual([])
      const overflow = await page.evaluate(
        () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
      )
      expect(overflow).toBeLessThanOrEqual(0)
      expect(requests).toEqual([pathToFileURL(file).href])
      await page.context().close()
    },
  )

  it('shows each plot by its text', async () => {
    const { page } = await open('light', 1280)
    const plots = page.getByRole('img', { name: /^(Calls|Tokens|Dollars) over time: / })
    expect(await plots.count()).toBe(6)
    await page.context().close()
  })
})
