import type { BrowserContextOptions, Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import type { BuiltSite } from './built.ts'

const LONG = 'docs/credits.html'
const PHONE: BrowserContextOptions = {
  viewport: { width: 390, height: 800 },
  isMobile: true,
  hasTouch: true,
}
const CLIPBOARD = { permissions: ['clipboard-read', 'clipboard-write'] }

/** The pages on paper, on a phone, by keys, for a screen reader and without JavaScript. */
export function describeReaders(site: () => BuiltSite): void {
  describe('a page on paper', () => {
    it('is white with dark letters, also for a reader of dark pages', async () => {
      const page = await site().open(LONG, { colorScheme: 'dark' })
      expect(await shadesOf(page)).toEqual({ paper: 'dark', letters: 'light' })
      await page.emulateMedia({ media: 'print' })
      expect(await shadesOf(page)).toEqual({ paper: 'light', letters: 'dark' })
      await page.context().close()
    })

    it('ends with its text, without an empty page', async () => {
      const page = await site().open(LONG)
      await page.emulateMedia({ media: 'print' })
      for (const path of [LONG, 'docs/llm.html', 'SECURITY.html']) {
        await page.goto(site().address + path)
        expect([path, await emptyEndOf(page)]).toEqual([path, 0])
      }
      await page.context().close()
    })
  })

  describe('a reader', () => {
    it('sees the item of the page in the menu, also far down, and after a link', async () => {
      const page = await site().open('docs/operate/slos.html')
      await expect.poll(() => isItemInSight(page)).toBe(true)
      await page.goto(`${site().address}docs/`)
      await page.locator('.vp-doc a[href$="production.html"]').first().click()
      await page.waitForURL(/production/)
      await expect.poll(() => isItemInSight(page)).toBe(true)
      await page.context().close()
    })

    it('is at the button of the search again after Escape', async () => {
      const page = await site().open(LONG)
      const button = page.locator('#local-search button')
      await button.press('Enter')
      await page.locator('#localsearch-input').fill('billing day')
      await page.keyboard.press('Escape')
      const isFocused = (): Promise<boolean> =>
        button.evaluate((one) => one === document.activeElement)
      await expect.poll(isFocused).toBe(true)
      expect(await page.getByRole('dialog').count()).toBe(0)
      await page.context().close()
    })

    it('hears the name of a copy button, and that the code is copied', async () => {
      const page = await site().open(LONG, CLIPBOARD)
      const names = await page
        .locator('.vp-doc button.copy')
        .evaluateAll((all) => all.map((one) => one.getAttribute('aria-label')))
      expect(new Set(names)).toEqual(new Set(['Copy code']))
      await page.getByRole('button', { name: 'Copy code' }).first().click()
      await page
        .getByRole('status')
        .filter({ hasText: /^Copied$/ })
        .waitFor()
      expect(await page.evaluate(() => navigator.clipboard.readText())).not.toBe('')
      await page.context().close()
    })

    it('can copy code, and the page, on a phone', async () => {
      const page = await site().open(LONG, { ...PHONE, ...CLIPBOARD })
      const button = page.locator('.vp-doc button.copy').first()
      const opacity = (): Promise<string> => button.evaluate((one) => getComputedStyle(one).opacity)
      await expect.poll(opacity).toBe('1')
      await page.getByRole('button', { name: 'Copy as Markdown' }).tap()
      await page.getByRole('button', { name: 'Copied' }).waitFor()
      await page.context().close()
    })
  })

  describe('the button that copies a page', () => {
    it('says so of this page alone', async () => {
      const page = await site().open(LONG, CLIPBOARD)
      await page.getByRole('button', { name: 'Copy as Markdown' }).click()
      await page.getByRole('button', { name: 'Copied' }).waitFor()
      await page.locator('.VPSidebar a[href$="/docs/llm.html"]').click()
      await page.waitForURL(/llm/)
      await page.getByRole('button', { name: 'Copy as Markdown' }).waitFor()
      expect(await page.getByRole('button', { name: 'Copied' }).count()).toBe(0)
      await page.context().close()
    })

    it('says that it has not copied a page that does not come', async () => {
      const page = await site().open(LONG, CLIPBOARD)
      await page.context().setOffline(true)
      await page.getByRole('button', { name: 'Copy as Markdown' }).click()
      const failed = page.getByRole('button', { name: 'Not copied: open the Markdown instead' })
      await failed.waitFor()
      expect(await page.getByRole('button', { name: 'Copied', exact: true }).count()).toBe(0)
      await page.context().close()
    })

    it('copies in a browser that takes no promise', async () => {
      const page = await site().open('SECURITY.html', CLIPBOARD)
      await page.addInitScript(() => Reflect.deleteProperty(globalThis, 'ClipboardItem'))
      await page.reload()
      await page.getByRole('button', { name: 'Copy as Markdown' }).click()
      await page.getByRole('button', { name: 'Copied' }).waitFor()
      expect(await page.evaluate(() => navigator.clipboard.readText())).toContain('# Security')
      await page.context().close()
    })
  })

  describe('without JavaScript', () => {
    it.each([
      ['wide', { viewport: { width: 1280, height: 800 } }],
      ['between', { viewport: { width: 1000, height: 800 } }],
      ['on a phone', PHONE],
    ])('a page has no control that does nothing, %s', async (_width, options) => {
      const page = await site().open(LONG, { ...options, javaScriptEnabled: false })
      for (const path of [LONG, 'docs/api/core.html', 'playground/']) {
        await page.goto(site().address + path)
        const controls = page.locator('button, select, input, textarea, .caret, [role=tab]')
        expect([path, await controls.filter({ visible: true }).count()]).toEqual([path, 0])
      }
      await page.context().close()
    })

    it('a phone shows the menu below the page', async () => {
      const page = await site().open(LONG, { ...PHONE, javaScriptEnabled: false })
      const menu = page.getByRole('navigation', { name: 'Sidebar Navigation' })
      const [text, items] = await Promise.all([
        page.locator('main').boundingBox(),
        menu.boundingBox(),
      ])
      expect(items?.x).toBeGreaterThanOrEqual(0)
      expect(items?.y).toBeGreaterThan((text?.y ?? 0) + (text?.height ?? 0))
      await menu.getByRole('link', { name: 'Getting started' }).tap()
      await page.waitForURL(/getting-started/)
      await page.context().close()
    })

    it('the playground says that it needs it', async () => {
      const page = await site().open('playground/', { javaScriptEnabled: false })
      const note = page.getByText('It needs JavaScript')
      expect(await note.isVisible()).toBe(true)
      expect(await page.getByText('Running').isVisible()).toBe(false)
      const live = await site().open('playground/')
      expect(await live.getByText('It needs JavaScript').isVisible()).toBe(false)
      await Promise.all([page.context().close(), live.context().close()])
    })
  })
}

/** Tells whether the paper and all letters of a page are light or dark. */
async function shadesOf(page: Page): Promise<{ paper: string; letters: string }> {
  const [paper, ...letters] = await page.evaluate((): [string, ...string[]] => {
    const texts = document.querySelectorAll('.vp-doc :is(h1, h2, p, a, li, td, pre span, p code)')
    return [
      getComputedStyle(document.body).backgroundColor,
      ...Array.from(texts, (text) => getComputedStyle(text).color),
    ]
  })
  return { paper: shadeOf(paper), letters: [...new Set(letters.map(shadeOf))].join(', ') }
}

function shadeOf(color: string): string {
  const [red = 0, green = 0, blue = 0] = color.match(/[\d.]+/g)?.map(Number) ?? []
  return 0.3 * red + 0.6 * green + 0.1 * blue > 140 ? 'light' : 'dark'
}

/** The pixels below the text of a page. */
const emptyEndOf = (page: Page): Promise<number> =>
  page.evaluate(() => {
    const text = document.querySelector('.vp-doc > div')?.lastElementChild
    const end = document.body.getBoundingClientRect().bottom
    const margin = text ? Number.parseFloat(getComputedStyle(text).marginBottom) : 0
    return Math.round(end - margin - (text?.getBoundingClientRect().bottom ?? 0))
  })

const isItemInSight = (page: Page): Promise<boolean> =>
  page.evaluate(() => {
    const items = document.querySelectorAll('.VPSidebarItem.is-active > .item')
    const place = items[items.length - 1]?.getBoundingClientRect()
    return place !== undefined && place.top > 64 && place.bottom < innerHeight
  })
