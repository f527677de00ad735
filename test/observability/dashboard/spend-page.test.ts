import { AxeBuilder } from '@axe-core/playwright'
import { createAdaptorServer } from '@hono/node-server'
import type { Limiter } from '@sluice/core'
import { createApiKey } from '@sluice/core/api-keys'
import { memory } from '@sluice/core/memory'
import { reserve } from '@sluice/core/reservations'
import type { Browser, Page, Request as PageRequest } from 'playwright-core'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { administrationFor } from '../../../apps/worker/src/admin/index.ts'
import { startNotes } from '../../../apps/worker/src/call-notes.ts'
import { limiterFor } from '../../../apps/worker/src/limits.ts'
import { listen, type Served } from '../../adapters/support.ts'
import { BROWSER, openBrowser } from './browser.ts'

const KEY = 'the-key-of-the-operator-of-the-gateway'

/** Micro-dollars of each key, by organisation and team. */
const SPENT: readonly (readonly [tenant: string, team: string, usd: number])[] = [
  ['acme', 'search', 1_204_213],
  ['acme', 'support', 310_000],
  ['globex', 'search', 42_500],
  ['initech with a rather long name', 'research', 7],
]

/** A gateway of which each key has made a call, and one has been denied. */
async function usedLimiter(): Promise<Limiter> {
  const limiter = limiterFor(memory())
  for (const [tenant, team, usd] of SPENT) {
    const owner = { tenant, team, user: `u_${team}`, plan: 'growth' }
    const { id } = await createApiKey(limiter, owner)
    const subject = { ...owner, model: 'gpt-6.2-sol', key: id, run: undefined }
    const cost = { request: 1, token: 2_000, usd: 1_500_000, call: 1 }
    const call = await reserve(limiter, subject, { cost })
    if (call.allowed) await call.settle({ token: 1_234, usd })
    if (team === 'support') await reserve(limiter, subject, { cost: { ...cost, usd: 4_900_000 } })
  }
  return limiter
}

/** The lines of the table, without the days. */
const cells = (page: Page): Promise<string[]> =>
  page.locator('tbody tr', { has: page.locator('button') }).allInnerTexts()

describe.skipIf(BROWSER === undefined)('the page of spend in a browser', () => {
  let browser: Browser
  let served: Served
  beforeAll(async () => {
    const store = { name: 'memory', isNamed: true, store: memory() }
    const admin = administrationFor({ ADMIN_KEY: KEY }, await usedLimiter(), store)
    const fetch = async (request: Request): Promise<Response> =>
      (await admin?.(request, startNotes(request))) ?? new Response('', { status: 404 })
    served = await listen(createAdaptorServer({ fetch }))
    browser = await openBrowser()
  })
  afterEach(async () => {
    await Promise.all(browser.contexts().map((context) => context.close()))
  })
  afterAll(async () => {
    await browser.close()
    await served.close()
  })

  /** Opens the page, and shows it with a key. */
  async function open(options: Parameters<Browser['newContext']>[0] = {}, key = KEY) {
    const page = await (await browser.newContext(options)).newPage()
    const asked: PageRequest[] = []
    const errors: string[] = []
    page.on('request', (request) => asked.push(request))
    page.on('pageerror', (error) => errors.push(error.message))
    await page.goto(`${served.url}/admin/spend`)
    await page.getByLabel('Operator’s key').fill(key)
    await page.getByRole('button', { name: 'Show' }).click()
    return { page, asked, errors }
  }

  it('shows what each has spent, to the micro-dollar, and what one of them has left', async () => {
    const { page, errors } = await open()
    await page.getByRole('heading', { name: 'Spent by organisation' }).waitFor()
    expect(await page.locator('.sluice-figure strong').allInnerTexts()).toEqual([
      '$1.55672',
      '4',
      '4,936',
      '1',
    ])
    expect(await cells(page)).toEqual([
      'acme\t$1.514213\t97 %\t2\t1\t2,468',
      'globex\t$0.0425\t3 %\t1\t0\t1,234',
      'initech with a rather long name\t$0.000007\t0 %\t1\t0\t1,234',
    ])
    await page.locator('select').selectOption({ label: 'Team' })
    await page.getByRole('heading', { name: 'Spent by organisation, team' }).waitFor()
    await page.getByRole('button', { name: 'support' }).click()
    const limits = page.getByRole('region', { name: 'Limits of acme, support' })
    await limits.waitFor()
    expect(
      await limits.getByRole('heading').evaluate((node) => node === document.activeElement),
    ).toBe(true)
    expect(await limits.getByRole('meter', { name: 'team' }).getAttribute('aria-valuetext')).toBe(
      '$0.31 of $3.00 used',
    )
    expect(errors).toEqual([])
  })

  it('asks no other address, sets no cookie, and forgets the key when it is told to', async () => {
    const { page, asked } = await open()
    await page.getByRole('heading', { name: 'Spent by organisation' }).waitFor()
    const kept = () =>
      page.evaluate(() => [Object.entries(sessionStorage), localStorage.length, document.cookie])
    expect(await kept()).toEqual([[['sluice-operator-key', KEY]], 0, ''])
    const download = page.waitForEvent('download')
    await page.getByRole('button', { name: 'CSV' }).click()
    expect((await download).suggestedFilename()).toBe('usage.csv')
    expect(
      asked
        .filter((request) => !request.url().startsWith('blob:'))
        .map((request) => request.url().replace(served.url, '').replace(/\?.*/, '')),
    ).toEqual(['/admin/spend', '/admin/spend/view', '/admin/usage'])
    expect(asked.some((request) => request.url().includes(KEY))).toBe(false)
    await page.getByRole('button', { name: 'Forget the key' }).click()
    expect(await kept()).toEqual([[], 0, ''])
    expect(await page.locator('#view').innerText()).toBe('')
  })

  it('says so of a wrong key, and asks for it again', async () => {
    const { page } = await open({}, 'wrong')
    await page
      .getByRole('status')
      .filter({ hasText: 'This operator key is missing, unknown, expired or revoked.' })
      .waitFor()
    expect(await page.getByLabel('Operator’s key').inputValue()).toBe('')
    expect(await page.evaluate(() => sessionStorage.length)).toBe(0)
  })

  it.each([
    ['light', 1280],
    ['dark', 390],
  ] as const)(
    'has nothing that axe finds, and no sideways scroll: %s, %i px',
    async (colorScheme, width) => {
      const viewport = { width, height: 800 }
      const { page } = await open({ colorScheme, viewport, bypassCSP: true })
      await page.getByRole('button', { name: 'acme' }).click()
      await page.getByText('Limits of acme').waitFor()
      const { violations } = await new AxeBuilder({ page }).analyze()
      expect(violations.map(({ id, nodes }) => [id, nodes[0]?.html])).toEqual([])
      const overhang = await page.evaluate(() => {
        const { scrollWidth, clientWidth } = document.documentElement
        return scrollWidth - clientWidth
      })
      expect(overhang).toBe(0)
    },
  )
})
