import { chromium, type Browser, type Page } from 'playwright-core'

/** The command of a browser: `npm run test:observability` installs one and sets it. */
export const BROWSER = process.env['TEST_BROWSER']

/** Opens the system's browser. */
export async function openBrowser(): Promise<Browser> {
  const command = BROWSER ?? 'chromium'
  const path = command.includes('/') ? command : `/usr/bin/${command}`
  // In a container, the sandbox of Chromium lacks the rights that it needs.
  return chromium.launch({ executablePath: path, args: ['--no-sandbox'] })
}

/** Opens the dashboard, and waits for its first data. */
export async function openDashboard(
  browser: Browser,
  url: string,
  options: { readonly colorScheme?: 'light' | 'dark'; readonly width?: number } = {},
): Promise<Page> {
  const { colorScheme = 'light', width = 1280 } = options
  const context = await browser.newContext({ colorScheme, viewport: { width, height: 800 } })
  const page = await context.newPage()
  await page.goto(`${url}/dashboard`)
  await page.getByText('Live', { exact: true }).waitFor()
  return page
}

/** Runs a scenario by its button, and waits for its end. Resolves to the sentence about it. */
export async function runScenario(page: Page, title: string): Promise<string> {
  await page.getByRole('button', { name: title, exact: true }).click()
  const status = page.locator('.scenarios [role=status]')
  await status.filter({ hasNotText: /is running|begin whole/ }).waitFor({ timeout: 110_000 })
  const summary = await status.innerText()
  if (!summary.includes(`${title} is over`)) throw new Error(`${title}: ${summary}`)
  return summary
}

/** Reads a figure of the page as a number. */
export async function figure(page: Page, name: string): Promise<number> {
  const value = page.locator('.sluice-figure', { has: page.getByText(name, { exact: true }) })
  return Number((await value.locator('strong').innerText()).replaceAll(/[^\d.]/g, ''))
}
