import { AxeBuilder } from '@axe-core/playwright'
import { describe, expect, it } from 'vitest'
import { BROWSER, runScenario } from './browser.ts'
import { openDemo } from './open-demo.ts'

const SCENARIOS = [
  'Runaway agent',
  'Retry storm',
  'Bulk import',
  'Scraper',
  'Redis down',
  'Midnight',
] as const

describe.skipIf(BROWSER === undefined)('the dashboard in a browser', () => {
  const { withPage } = openDemo()

  describe.each(SCENARIOS)('after %s', (title) => {
    it('has nothing that axe objects to, in light and dark, wide and narrow', () =>
      withPage({}, async (page) => {
        await runScenario(page, title)
        for (const colorScheme of ['light', 'dark'] as const) {
          for (const width of [1280, 390]) {
            await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
            await page.setViewportSize({ width, height: 800 })
            const { violations } = await new AxeBuilder({ page }).analyze()
            const found = violations.map(({ id, nodes }) => [id, nodes[0]?.html])
            expect(found, `${colorScheme}, ${width} wide`).toEqual([])
            const overflow = await page.evaluate(
              () => document.documentElement.scrollWidth - window.innerWidth,
            )
            expect(overflow, `${colorScheme}, ${width} wide`).toBeLessThanOrEqual(0)
          }
        }
      }))
  })

  it('tells the lines of each chart apart without their colors', () =>
    withPage({}, async (page) => {
      await runScenario(page, 'Retry storm')
      const legends = await page.locator('.sluice-legend').all()
      expect(legends.length).toBeGreaterThan(1)
      for (const legend of legends) {
        const signs = await legend
          .locator('i')
          .evaluateAll((all) => all.map((i) => `${i.className} ${i.style.borderTopStyle}`))
        expect(new Set(signs).size).toBe(signs.length)
      }
    }))

  it('shows the whole table of tenants on a phone', () =>
    withPage({ width: 390 }, async (page) => {
      await runScenario(page, 'Retry storm')
      const box = page.getByRole('group', { name: 'Tenants, a table to scroll' })
      expect(await box.evaluate((one) => one.scrollWidth - one.clientWidth)).toBeLessThanOrEqual(0)
      const names = await box.locator('thead th:visible').allInnerTexts()
      expect(names).toEqual(['Tenant', 'Allowed', 'Denied', 'Spent', 'Not spent ≈'])
    }))
})
