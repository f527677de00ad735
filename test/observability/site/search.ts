import { AxeBuilder } from '@axe-core/playwright'
import type { Page } from 'playwright-core'
import { expect, it } from 'vitest'
import { BASE, type BuiltSite } from './built.ts'
import { QUESTIONS } from './questions.ts'

/** The questions of which the search may miss the page. */
const MISSED = 4
/** The search waits a moment after each key: some questions are asked at a time. */
const AT_A_TIME = 5

/** The search, asked as users ask. */
export function describeSearch(site: () => BuiltSite): void {
  it('finds the page that answers a question among the first three', async () => {
    const questions = Object.keys(QUESTIONS)
    const missed: string[] = []
    const askInTurn = async (): Promise<void> => {
      const page = await site().open('docs/credits.html')
      await openSearch(page)
      for (let question = questions.pop(); question; question = questions.pop()) {
        const found = await ask(page, question)
        if (!found.some((path) => QUESTIONS[question ?? '']?.includes(path)))
          missed.push(`${question}: ${found.join(', ')}`)
      }
      await page.context().close()
    }
    await Promise.all(Array.from({ length: AT_A_TIME }, askInTurn))
    // The list tells which they are.
    expect(missed).toEqual(missed.slice(0, MISSED))
  })
}

/** The open search, by keys and for a screen reader. */
export function describeSearchBox(site: () => BuiltSite): void {
  it('opens a dialog whose results are chosen by keys, and has no barrier that axe knows', async () => {
    const page = await site().open('docs/credits.html')
    await openSearch(page)
    await ask(page, 'billing day')
    const dialog = page.getByRole('dialog', { name: 'Search' })
    const chosen = dialog.getByRole('option', { selected: true })
    const first = await chosen.innerText()
    await page.keyboard.press('ArrowDown')
    await expect.poll(() => chosen.innerText()).not.toBe(first)
    const input = dialog.locator('#localsearch-input')
    expect(await input.getAttribute('aria-activedescendant')).toBe(await chosen.getAttribute('id'))
    const { violations } = await new AxeBuilder({ page }).include('.VPLocalSearchBox').analyze()
    expect(violations.map(({ id, nodes }) => [id, nodes[0]?.html])).toEqual([])
    await page.keyboard.press('Enter')
    await page.waitForURL(/calendars/)
    await page.context().close()
  })
}

/** Opens the search: a page hears keys only once its scripts run. */
async function openSearch(page: Page): Promise<void> {
  const isOpen = async (): Promise<boolean> => {
    await page.keyboard.press('Control+k')
    return page.locator('#localsearch-input').isVisible()
  }
  await expect.poll(isOpen).toBe(true)
}

/** Returns the first three pages that the search finds. */
async function ask(page: Page, question: string): Promise<string[]> {
  const box = page.locator('#localsearch-input')
  const results = page.locator('#localsearch-list a')
  // The list of the question before goes first.
  await box.fill('')
  await results.first().waitFor({ state: 'detached' })
  await box.fill(question)
  await results.first().waitFor()
  const links = await results.evaluateAll((all) => all.map((one) => one.getAttribute('href') ?? ''))
  const paths = links.map((link) => link.slice(BASE.length).replace(/\.html.*|#.*/, ''))
  return [...new Set(paths)].slice(0, 3)
}
