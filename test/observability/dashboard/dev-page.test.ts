import { AxeBuilder } from '@axe-core/playwright'
import type { Browser, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { appOf, endCommands, pageOf, send, startDev } from '../../cli/dev/dev-command.ts'
import { removeProjects } from '../../cli/project.ts'
import { BROWSER, figure, pixelsOf, openBrowser } from './browser.ts'

describe.skipIf(BROWSER === undefined)('the page of sluice dev in a browser', () => {
  let browser: Browser
  beforeAll(async () => {
    browser = await openBrowser()
  })
  afterEach(endCommands)
  afterAll(async () => {
    await browser.close()
    removeProjects()
  })

  /** Opens a page, and notes what it asks for and complains about. */
  async function open(
    url: string,
    options: Parameters<Browser['newContext']>[0] = {},
  ): Promise<{ page: Page; requests: string[]; complaints: string[] }> {
    const context = await browser.newContext(options)
    const page = await context.newPage()
    const requests: string[] = []
    const complaints: string[] = []
    page.on('request', (request) => requests.push(request.url()))
    page.on('console', (message) => complaints.push(message.text()))
    page.on('pageerror', (error) => complaints.push(error.message))
    await page.goto(url)
    await page.getByText('Live', { exact: true }).waitFor()
    return { page, requests, complaints }
  }

  it('shows tenants and denials as they come, and asks nobody but its stream', async () => {
    const dev = startDev(['--', 'node', 'server.mjs'])
    const [url, app] = [await pageOf(dev), await appOf(dev)]
    const { page, requests, complaints } = await open(url)
    await page.getByText('No decision has reached this page yet').waitFor()
    await send(app, 'other', 1)
    await expect.poll(() => figure(page, 'Allowed')).toBe(1)
    // Nothing is denied, and nothing is drawn so; no dollars are counted, and none are shown.
    await expect.poll(() => pixelsOf(page, 'sluice-good')).toBeGreaterThan(0)
    expect(await pixelsOf(page, 'sluice-bad')).toBe(0)
    const names = await page.locator('.sluice-figure dt').allInnerTexts()
    expect(names).toEqual(['Allowed', 'Denied'])
    await send(app, 'acme', 5)
    const row = page.getByRole('row').filter({ has: page.getByRole('button', { name: 'acme' }) })
    // Allowed and denied.
    await expect
      .poll(async () => (await row.getByRole('cell').allInnerTexts()).slice(1, 3))
      .toEqual(['2', '3'])
    await expect.poll(() => figure(page, 'Denied')).toBe(3)
    await expect.poll(() => figure(page, 'Allowed')).toBe(3)
    await expect.poll(() => pixelsOf(page, 'sluice-bad')).toBeGreaterThan(0)
    expect(complaints).toEqual([])
    expect([...new Set(requests)]).toEqual([`${url}/`, `${url}/stream`])
    const why = page.getByRole('region', { name: 'Why is it denied?' })
    await why.getByLabel('Tenant').fill('acme')
    await why.getByRole('button', { name: 'Ask' }).click()
    await why.getByText('npx @sluice/cli why --tenant NAME').waitFor()
    await page.context().close()
  })

  it.each([
    ['light', 1280],
    ['dark', 390],
  ] as const)(
    'has nothing that axe finds, and no sideways scroll: %s, %i px',
    async (colorScheme, width) => {
      const dev = startDev(['--', 'node', 'server.mjs'])
      const [url, app] = [await pageOf(dev), await appOf(dev)]
      await send(app, 'acme', 3)
      const viewport = { width, height: 800 }
      // axe adds a script of its own, which the page's policy refuses.
      const { page } = await open(url, { colorScheme, viewport, bypassCSP: true })
      await page.locator('.sluice-chart canvas').first().waitFor()
      const { violations } = await new AxeBuilder({ page }).analyze()
      expect(violations.map(({ id, nodes }) => [id, nodes[0]?.html])).toEqual([])
      const overflow = await page.evaluate(
        () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
      )
      expect(overflow).toBeLessThanOrEqual(0)
      await page.context().close()
    },
  )
})
