import type { Page } from 'playwright-core'
import { expect, it } from 'vitest'
import type { BuiltSite } from './built.ts'
import { fileOf, PAGE, settled } from './playground-page.ts'

/** The results that a page shows, and what it says of them. */
const resultsOf = async (page: Page): Promise<unknown> => ({
  runs: await page.locator('.pg-run').count(),
  says: await page.getByRole('status').innerText(),
})

/** Registers the tests of fields that a reader fills in, also wrongly. */
export function describeMistakes(open: BuiltSite['open']): void {
  it.each<[string, string | Buffer, string]>([
    ['without tenants', 'time,cost\n2026-02-03T00:00:00Z,1\n', 'it has no column "tenant"'],
    ['that is empty', ' ', 'log: is empty'],
    ['that is a picture', Buffer.of(0x89, 0x50, 0x4e, 0x47, 0xff), 'must be a text in UTF-8'],
    ['that is too large', Buffer.alloc(10_000_001, 'x'), 'must be at most 10 MB'],
  ])('shows no result beside the mistake of a log %s', async (_, content, message) => {
    const page = await open(PAGE)
    await settled(page)
    await page.getByLabel('Kind of traffic').selectOption('Your log')
    await page.getByText('4 requests decided').waitFor()
    await page.getByLabel('Read a file').setInputFiles(fileOf(content))
    await page.locator('#pg-field-issue').filter({ hasText: message }).waitFor()
    expect(await resultsOf(page)).toEqual({ runs: 0, says: '' })
    await page.getByLabel('Seed').fill('9')
    await page.waitForURL(/seed=9$/)
    await page.locator('#pg-issue').filter({ hasText: message }).waitFor()
    expect(await resultsOf(page)).toEqual({ runs: 0, says: '' })
    await page.getByLabel('Kind of traffic').selectOption('Steady')
    await settled(page)
  })

  it('shows no result while a part of it cannot be loaded', async () => {
    const page = await open(PAGE)
    await settled(page)
    await page.context().setOffline(true)
    await page.getByLabel('Kind of traffic').selectOption('Your log')
    await page.locator('#pg-issue').filter({ hasText: 'Go online' }).waitFor()
    expect(await resultsOf(page)).toEqual({ runs: 0, says: '' })
    await page.getByLabel('Kind of traffic').selectOption('Bursts')
    await settled(page)
  })

  it('copies the link of the fields as they are', async () => {
    const page = await open(PAGE, { permissions: ['clipboard-read', 'clipboard-write'] })
    const copied = async (says: string): Promise<string> => {
      await page.getByRole('button', { name: /^(?:Copy link|Link copied)/ }).click()
      await page.getByRole('button', { name: says, exact: true }).waitFor()
      return page.evaluate(() => navigator.clipboard.readText())
    }
    await page.getByLabel('Limit', { exact: true }).fill('-7')
    await page.locator('#pg-issue').waitFor()
    expect(await copied('Link copied, with a mistake')).toContain('policy.limit=-7')
    await page.getByLabel('Limit', { exact: true }).fill('3')
    await page.getByLabel('Kind of traffic').selectOption('Your log')
    await page.getByLabel('Log', { exact: true }).fill('time,tenant\n1767600000,secret\n')
    await page.getByText('1 request decided').waitFor()
    const link = await copied('Link copied, without your log')
    expect(link).toContain('policy.limit=3')
    expect(link + page.url()).not.toContain('secret')
    await page.getByLabel('Begin with').selectOption('Fair shares beside the agent')
    await page.waitForURL(/policy=shares/)
    await settled(page)
    await page.goBack()
    await page.locator('#pg-issue').filter({ hasText: 'a link has none' }).waitFor()
    expect(await page.getByLabel('Limit', { exact: true }).inputValue()).toBe('3')
  })

  it('keeps the focus when a policy is removed, and when no more can be added', async () => {
    const page = await open(PAGE)
    await page.getByLabel('Begin with').selectOption('Minute, day and dollars')
    await page.getByRole('button', { name: 'Remove policy 3' }).press('Enter')
    const focused = (): Promise<string | undefined> =>
      page.evaluate(() => document.activeElement?.id)
    await expect.poll(focused).toBe('policies-1')
    for (let count = 2; count < 6; count += 1)
      await page.getByRole('button', { name: 'Add policy' }).press('Enter')
    await expect.poll(focused).toBe('policies-5')
  })

  it('fits a phone, with a tenant of a long name, and leads to its results', async () => {
    const page = await open(PAGE, { viewport: { width: 390, height: 800 } })
    await page.getByLabel('Kind of traffic').selectOption('Your log')
    const name = 'x'.repeat(3_000)
    const log = `time,tenant\n1767600000,${name}\n1767600001,b\n`
    await page.getByLabel('Log', { exact: true }).fill(log)
    await page.getByText('2 requests decided').waitFor()
    for (const summary of await page.locator('.pg summary').all()) await summary.click()
    const width = await page.evaluate(() => document.documentElement.scrollWidth)
    expect(width).toBe(390)
    await page.getByRole('button', { name: 'To the results' }).click()
    expect(await page.evaluate(() => document.activeElement?.className)).toBe('pg-results')
    const top = (): Promise<number | undefined> =>
      page.locator('.pg-results').evaluate((found) => found.getBoundingClientRect().top)
    await expect.poll(top).toBeLessThan(100)
  })

  it('says what is wrong with a field and with a link', async () => {
    const page = await open(`${PAGE}#policy=windw&traffic=steady`)
    expect(await page.getByRole('alert').innerText()).toContain('link.policy: must be one of')
    const limit = page.getByLabel('Limit', { exact: true })
    await limit.fill('-1')
    const issue = page.locator('#pg-issue')
    await issue.filter({ hasText: 'slidingWindow.limit: must be a whole number from 0' }).waitFor()
    expect(await limit.getAttribute('aria-describedby')).toBe('pg-field-issue')
    await limit.fill('0')
    await settled(page)
    await page.getByLabel('the answer').filter({ hasText: 'cost_exceeds_limit' }).waitFor()
  })
}
