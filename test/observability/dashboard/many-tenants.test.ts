import { createAdaptorServer } from '@hono/node-server'
import { budget, usd } from '@sluice/ai'
import { createLimiter, manualClock } from '@sluice/core'
import { memory } from '@sluice/core/memory'
import { createDashboard, dashboardHandler } from '@sluice/dashboard'
import { dashboardPage } from '@sluice/dashboard/page'
import { describe, expect, it, onTestFinished } from 'vitest'
import { listen } from '../../adapters/support.ts'
import { BROWSER, openBrowser } from './browser.ts'

describe.skipIf(BROWSER === undefined)('a page about more tenants than it lists', () => {
  it('has the dollars of all, and the one that has spent most in table and choice', async () => {
    // All in one second, of which the charts have 50 tenants.
    const clock = manualClock(Date.now())
    const dashboard = createDashboard({ clock })
    const limiter = createLimiter({
      store: memory(),
      clock,
      policies: [budget({ daily: usd(1_000), per: ['tenant'] })],
      extensions: [dashboard.watch()],
    })
    const spend = (tenant: string, dollars: number): Promise<unknown> =>
      limiter.check({ tenant }, { cost: { usd: dollars * 1_000_000 } })
    await spend('burner', 900)
    for (let index = 0; index < 300; index += 1) await spend(`t${index}`, 0.5)
    const handler = dashboardHandler(dashboard, { authorize: () => true })
    const fetch = (request: Request): Response | Promise<Response> =>
      new URL(request.url).pathname === '/' ? dashboardPage({ url: '/stream' }) : handler(request)
    const server = await listen(createAdaptorServer({ fetch }))
    onTestFinished(() => server.close())
    const browser = await openBrowser()
    onTestFinished(() => browser.close())
    const page = await browser.newPage()
    await page.goto(server.url)
    await page.getByText('Live', { exact: true }).waitFor()
    const spent = page.locator('.sluice-figure', { hasText: 'Spent' }).locator('strong').first()
    expect(await spent.innerText()).toBe('$1,050.00')

    // While the page is open, others come and push tenants out of its list.
    for (let index = 0; index < 300; index += 1) await spend(`u${index}`, 0.25)
    await expect.poll(() => spent.innerText()).toBe('$1,125.00')
    const table = page.getByRole('region', { name: 'Top tenants' })
    expect(await table.innerText()).toMatch(/The 10 heaviest of 601 tenants; (1\d\d|200) can be/)
    const first = table.getByRole('row').nth(1)
    expect(await first.innerText()).toMatch(/^burner\b.*\$900\.00/)
    const choice = page.locator('.sluice-bar select').first()
    expect(await choice.locator('option').count()).toBeLessThanOrEqual(201)
    const light = await choice
      .locator('option')
      .filter({ hasText: /^u\d+$/ })
      .first()
      .innerText()
    await choice.selectOption(light)
    await page.getByText('Not drawn: the charts have the 50 tenants').waitFor()
    await choice.selectOption('burner')
    await expect.poll(() => spent.innerText()).toBe('$900.00')
  })
})
