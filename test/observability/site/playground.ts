import { AxeBuilder } from '@axe-core/playwright'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { fileURLToPath, pathToFileURL } from 'node:url'
import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { EXAMPLES } from '../../../apps/site/playground/engine/examples.ts'
import { linkOf } from '../../../apps/site/playground/engine/link.ts'
import type { Program } from '../../../apps/site/playground/engine/program.ts'
import {
  policyForm,
  trafficForm,
  useForm,
  type Scenario,
} from '../../../apps/site/playground/engine/scenario.ts'
import { prepare } from '../../../apps/site/playground/engine/simulate.ts'
import { lineOf, runCode } from '../../docs/playground/run-code.ts'
import type { BuiltSite } from './built.ts'
import { describeAddress } from './playground-address.ts'
import { describeLogs } from './playground-log.ts'
import { describeMistakes } from './playground-mistakes.ts'
import { fileOf, PAGE, settled } from './playground-page.ts'

const SHADES = [
  ['light', 1280],
  ['dark', 1280],
  ['light', 390],
] as const

const codeIn = (page: Page): Promise<string> =>
  page.getByLabel('the code', { exact: true }).innerText()

/** Saves the decisions of the page, and reads them as lines. */
async function decisionsIn(page: Page): Promise<string[]> {
  const saved = page.waitForEvent('download')
  await page.getByRole('button', { name: 'Save all decisions' }).click()
  const [, ...rows] = readFileSync(await (await saved).path(), 'utf8')
    .trim()
    .split('\r\n')
  return rows.map((row) => {
    const [at, tenant = '', , allowed, policy, , , , ...left] = row.split(',')
    return lineOf(Number(at), tenant, allowed === 'true', policy || undefined, left.map(Number))
  })
}

/** Runs code in Node.js as its reader would: from a file. */
async function decisionsOf(code: string, scenario: Scenario): Promise<string[]> {
  const folder = mkdtempSync(fileURLToPath(new URL('../../docs/playground-', import.meta.url)))
  const file = join(folder, 'limits.ts')
  writeFileSync(file, code)
  try {
    const program = (await import(pathToFileURL(file).href)) as Program
    return await runCode(program, await prepare(scenario))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

const large: Scenario = {
  policies: [policyForm('bucket', { limit: '6000', burst: '3000' }), policyForm('daily')],
  traffic: trafficForm('burst', { tenants: '10', size: '10000', every: '1m', lasts: '1m' }),
  use: useForm(),
  seed: '3',
}

/** Registers the tests of the playground. */
export function describePlayground(site: () => BuiltSite): void {
  const open: BuiltSite['open'] = (path, options) => site().open(path, options)

  describe('the playground', () => {
    it('decides ten scenarios as the code that it shows does in Node.js, to the request', async () => {
      const page = await open(PAGE)
      expect(EXAMPLES).toHaveLength(10)
      for (const { title, scenario } of EXAMPLES) {
        await page.getByLabel('Begin with').selectOption(title)
        await page.waitForURL((url) => url.hash === `#${linkOf(scenario)}`)
        await settled(page)
        const expected = await decisionsOf(await codeIn(page), scenario)
        expect(expected.length).toBeGreaterThan(200)
        expect({ title, lines: await decisionsIn(page) }).toEqual({ title, lines: expected })
      }
    })

    it('decides a hundred thousand requests', async () => {
      const page = await open(`${PAGE}#${linkOf(large)}`)
      await settled(page)
      expect(await page.getByRole('status').innerText()).toContain('100,000 requests decided')
    })

    it('decides the requests of a log of the reader, as its code does in Node.js', async () => {
      const log = `time,tenant,cost\n${Array.from(
        { length: 90 },
        (_, index) => `${Date.UTC(2026, 1, 3) / 1_000 + index * 2},t${index % 3},0.0${index % 10}`,
      ).join('\n')}`
      const scenario: Scenario = {
        policies: [policyForm('window', { limit: '25' }), policyForm('budget', { daily: '0.9' })],
        traffic: trafficForm('log', { log }),
        use: useForm(),
        seed: '1',
      }
      const page = await open(`${PAGE}#${linkOf(scenario)}`)
      await page.locator('#pg-issue').filter({ hasText: 'a link has none' }).waitFor()
      const choose = page.getByLabel('Read a file')
      await choose.setInputFiles(fileOf(`${log}\nnoon,t1,1\n`))
      await page.locator('#pg-issue').filter({ hasText: 'line 92: "time" is not a time' }).waitFor()
      await choose.setInputFiles(fileOf(gzipSync(log)))
      await settled(page)
      expect(page.url()).not.toContain('t1')
      const decisions = await decisionsIn(page)
      expect(decisions).toHaveLength(90)
      expect(decisions).toEqual(await decisionsOf(await codeIn(page), scenario))
    })

    it('shows the same behind its link', async () => {
      const page = await open(PAGE, { permissions: ['clipboard-read', 'clipboard-write'] })
      await page.getByLabel('Begin with').selectOption('Credits that run out')
      await page.getByLabel('Seed').fill('77')
      await page.waitForURL(/seed=77$/)
      await settled(page)
      await page.getByRole('button', { name: 'Copy link' }).click()
      await page.getByRole('button', { name: 'Link copied' }).waitFor()
      const link = await page.evaluate(() => navigator.clipboard.readText())
      const other = await open(PAGE + new URL(link).hash)
      await settled(other)
      expect(await codeIn(other)).toBe(await codeIn(page))
      expect(await decisionsIn(other)).toEqual(await decisionsIn(page))
    })

    describeAddress(open, large)
    describeLogs(open)
    describeMistakes(open)

    it('is used by the keyboard alone, and offline', async () => {
      const page = await open(PAGE)
      await settled(page)
      await page.context().setOffline(true)
      const reach = async (name: string): Promise<void> => {
        for (let count = 0; count < 80; count += 1) {
          await page.keyboard.press('Tab')
          const found = await page.evaluate(() => {
            const at = document.activeElement
            const label = at?.id ? document.querySelector(`label[for="${at.id}"]`) : null
            return at?.getAttribute('aria-label') ?? (label ?? at)?.textContent?.trim()
          })
          if (found === name) return
        }
        throw new Error(`Tab leads to no "${name}"`)
      }
      await reach('Limit')
      await page.keyboard.press('Control+a')
      await page.keyboard.type('33')
      await reach('Kind of policy to add')
      await page.keyboard.type('Budget')
      await reach('Add policy')
      await page.keyboard.press('Enter')
      await reach('Kind of traffic')
      await page.keyboard.type('Runaway')
      await page.waitForURL(/limit=33.*policy=budget.*traffic=runaway/)
      await settled(page)
      await reach('The same as tables')
      await page.keyboard.press('Enter')
      await page.getByRole('rowheader', { name: 'runaway' }).waitFor()
      expect(await codeIn(page)).toContain("budget({ name: 'budget'")
    })

    it.each(SHADES)(
      'has no barrier that axe knows, %s, %i pixels wide',
      async (colorScheme, width) => {
        const page = await open(PAGE, { colorScheme, viewport: { width, height: 800 } })
        const barriers = async (): Promise<unknown> => {
          const { violations } = await new AxeBuilder({ page }).analyze()
          return violations.map(({ id, nodes }) => [id, nodes[0]?.html])
        }
        await page.getByLabel('Begin with').selectOption('Minute, day and dollars')
        await page.waitForURL(/policy=budget/)
        await settled(page)
        // Each node takes axe some time, and the tables have many.
        const tables = page.locator('.pg summary')
        if (width > 1000) for (const summary of await tables.all()) await summary.click()
        expect(await barriers()).toEqual([])
        await page.getByLabel('Limit', { exact: true }).first().fill('many')
        await page.locator('#pg-issue').waitFor()
        expect(await barriers()).toEqual([])
      },
    )
  })
}
