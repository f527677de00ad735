import { AxeBuilder } from '@axe-core/playwright'
import { expect, it } from 'vitest'
import type { BuiltSite } from './built.ts'
import { fileOf, PAGE, settled } from './playground-page.ts'

const TENANTS = 12_000
const START = Date.UTC(2026, 1, 3) / 1_000

/** Registers the tests of logs of the reader that are long. */
export function describeLogs(open: BuiltSite['open']): void {
  it('shows a part of many tenants, and each that is asked for', async () => {
    const log = `time,tenant\n${Array.from(
      { length: 2 * TENANTS },
      (_, index) => `${START + index},t${index % TENANTS}\n`,
    ).join('')}`
    const page = await open(PAGE)
    await page.getByLabel('Kind of policy 1').selectOption('Daily cap')
    await page.getByLabel('Limit', { exact: true }).fill('1')
    await page.getByLabel('Kind of traffic').selectOption('Your log')
    await page.getByLabel('Read a file').setInputFiles(fileOf(log))
    await page.getByText('24,000 requests decided').waitFor()
    expect(await page.locator('.pg *').count()).toBeLessThan(2_000)
    const { violations } = await new AxeBuilder({ page }).include('.pg').analyze()
    expect(violations.map(({ id, nodes }) => [id, nodes[0]?.html])).toEqual([])
    await page.getByText('The same as tables').click()
    const rows = page.getByRole('region', { name: 'Tenants as a table' }).getByRole('rowheader')
    expect(await rows.count()).toBe(50)
    await page.getByRole('button', { name: 'Show more of 12,000 tenants' }).click()
    await expect.poll(() => rows.count()).toBe(1_050)
    const tenant = page.getByLabel('Tenant', { exact: true })
    await tenant.fill('t11999')
    await tenant.press('Enter')
    await page.getByText('Decisions of t11999, one by one').waitFor()
    await page.getByText('0 requests left after the last decision').waitFor()
    await page.getByText('of 1 request', { exact: false }).first().waitFor()
    await tenant.fill('nobody')
    await tenant.press('Enter')
    await expect.poll(() => tenant.inputValue()).toBe('t11999')
  })

  it('says which calls of a log count as $0', async () => {
    const log = 'time,tenant,model,input,output\n1767600000,a,none,9,9\n1767600001,a,gpt-5,9,9\n'
    const page = await open(PAGE)
    await page.getByLabel('Kind of policy 1').selectOption('Budget in dollars')
    await page.getByLabel('Kind of traffic').selectOption('Your log')
    await page.getByLabel('Read a file').setInputFiles(fileOf(log))
    await settled(page)
    await page.getByText('Counted as $0: 1 call with neither a cost nor a price.').waitFor()
    await page.getByLabel('Kind of policy 1').selectOption('Daily cap')
    await settled(page)
    expect(await page.getByText('Counted as $0').count()).toBe(0)
  })
}
