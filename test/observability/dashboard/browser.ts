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

/** Counts the pixels of the first chart that have a color of the page, such as that of denied requests. */
export function pixelsOf(page: Page, color: 'sluice-good' | 'sluice-bad'): Promise<number> {
  return page.evaluate((name) => {
    const canvas = document.querySelector<HTMLCanvasElement>('.sluice-chart canvas')
    if (!canvas) return 0
    const probe = document.createElement('span')
    probe.style.color = `var(--${name})`
    document.querySelector('.sluice')?.append(probe)
    const wanted = getComputedStyle(probe).color.match(/\d+/g)?.map(Number) ?? []
    probe.remove()
    // A browser warns of a page's own canvas that is read again and again.
    const copy = new OffscreenCanvas(canvas.width, canvas.height)
    const pen = copy.getContext('2d', { willReadFrequently: true })
    pen?.drawImage(canvas, 0, 0)
    const { data = [] } = pen?.getImageData(0, 0, canvas.width, canvas.height) ?? {}
    let count = 0
    for (let at = 0; at < data.length; at += 4) {
      if (wanted.slice(0, 3).every((part, index) => data[at + index] === part)) count += 1
    }
    return count
  }, color)
}
