// Takes the pictures of the dashboard in the README and the docs, from the demo as it was built. Run it by
// `npm run docs:screenshots`.
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { openBrowser, openDashboard, runScenario } from '../test/observability/dashboard/browser.ts'
import { startDemo } from '../test/observability/dashboard/demo.ts'

const folder = fileURLToPath(new URL('../docs/screenshots', import.meta.url))
mkdirSync(folder, { recursive: true })

await using demo = await startDemo()
const browser = await openBrowser()
const page = await openDashboard(browser, demo.url)
await runScenario(page, 'Retry storm')
await runScenario(page, 'Runaway agent')
await page.screenshot({ path: join(folder, 'runaway-agent.png') })

await page.locator('.sluice-bar select').first().selectOption('')
await page.getByRole('button', { name: 'Send a burst of 25' }).click()
await page.getByText('too many this minute').first().waitFor()
// Findings are looked for every ten seconds.
await page.locator('.sluice-findings').waitFor({ timeout: 30_000 })
// As far as the findings.
await page.setViewportSize({ width: 1280, height: 1190 })
for (const colorScheme of ['light', 'dark'] as const) {
  await page.emulateMedia({ colorScheme })
  await page.evaluate(() => window.scrollTo(0, 0))
  await page.screenshot({ path: join(folder, `dashboard-${colorScheme}.png`) })
}
await browser.close()
