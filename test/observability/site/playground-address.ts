import type { Page, Route } from 'playwright-core'
import { expect, it } from 'vitest'
import { linkOf } from '../../../apps/site/playground/engine/link.ts'
import type { Scenario } from '../../../apps/site/playground/engine/scenario.ts'
import type { BuiltSite } from './built.ts'
import { PAGE, settled } from './playground-page.ts'

const BROKEN = 'policy=windw&traffic=steady'
const limitOf = (page: Page) => page.getByLabel('Limit', { exact: true })

/** Registers the tests of the scenario in the address of the page. */
export function describeAddress(open: BuiltSite['open'], large: Scenario): void {
  it('keeps the scenario with the mistake of its seed when it is loaded again', async () => {
    const page = await open(PAGE)
    await limitOf(page).fill('33')
    await page.getByLabel('Seed').fill('x')
    await page.locator('#pg-issue').waitFor()
    await page.reload()
    await page.locator('#pg-field-issue').filter({ hasText: 'seed: must be' }).waitFor()
    expect(await limitOf(page).inputValue()).toBe('33')
    expect(await page.getByLabel('Seed').inputValue()).toBe('x')
    expect(await page.getByRole('alert').count()).toBe(1)
  })

  it('keeps the scenario when a reader skips to the content', async () => {
    const page = await open(PAGE)
    await limitOf(page).fill('33')
    await page.waitForURL(/limit=33/)
    await settled(page)
    await page.getByRole('link', { name: 'Skip to content' }).press('Enter')
    await page.waitForURL(/limit=33/)
    const focused = (): Promise<string | undefined> =>
      page.evaluate(() => document.activeElement?.id)
    await expect.poll(focused).toBe('VPContent')
    expect(await page.getByRole('alert').count()).toBe(0)
    expect(await limitOf(page).inputValue()).toBe('33')
  })

  it('keeps a broken link until the scenario is edited', async () => {
    const page = await open(`${PAGE}#${BROKEN}`)
    await settled(page)
    expect(new URL(page.url()).hash).toBe(`#${BROKEN}`)
    const alert = page.getByRole('alert').filter({ hasText: 'link.policy: must be one of' })
    expect(await alert.count()).toBe(1)
    await page.getByLabel('Seed').fill('9')
    await page.waitForURL(/seed=9$/)
    expect(await alert.count()).toBe(0)
  })

  it('writes nothing into the address of another page', async () => {
    const page = await open('SECURITY.html')
    // The next page comes only after the timer of the edit.
    const held: Route[] = []
    await page.route(/docs_index\.md\./, (route) => void held.push(route))
    await page.goto(new URL(PAGE, page.url()).href)
    await settled(page)
    await page.evaluate(() => {
      const seed = document.querySelector<HTMLInputElement>('#pg-seed')
      if (seed) seed.value = '9'
      seed?.dispatchEvent(new Event('input'))
      document.querySelector<HTMLElement>('.VPNav a[href$="/docs/"]')?.click()
    })
    await settled(page)
    expect(page.url()).toMatch(/\/docs\/$/)
    for (const route of held) await route.continue()
    await page.getByRole('heading', { level: 1, name: 'documentation' }).waitFor()
  })

  it('runs the scenario of a link once', async () => {
    const page = await open('SECURITY.html')
    await page.addInitScript(() => {
      const replace = history.replaceState.bind(history)
      history.replaceState = (state, title, url) => {
        // Each run begins with it.
        if (String(url).startsWith('#policy=')) performance.mark('run')
        replace(state, title, url)
      }
    })
    // It takes longer than the timer of an edit.
    await page.goto(new URL(`${PAGE}#${linkOf(large)}`, page.url()).href)
    await settled(page)
    expect(await page.evaluate(() => performance.getEntriesByName('run').length)).toBe(1)
  })
}
