import { AxeBuilder } from '@axe-core/playwright'
import { createDashboard } from '@sluice/dashboard'
import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { BROWSER, figure, openDashboard, runScenario } from './browser.ts'
import { startLine } from './line.ts'
import { openDemo } from './open-demo.ts'
import { openRecorded, serverVersions, shownVersions } from './shown-versions.ts'

/** A view without any activity. */
const EMPTY_VIEW = createDashboard().view()

/** Lets the page receive this view, and nothing else. */
async function show(page: Page, view: object): Promise<void> {
  await page.route('**/api/dashboard', (route) =>
    route.fulfill({
      contentType: 'text/event-stream',
      body: `id: 1\nevent: snapshot\ndata: ${JSON.stringify(view)}\n\n`,
    }),
  )
  await page.reload()
}

describe.skipIf(BROWSER === undefined)('the dashboard in a browser', () => {
  const { demo, browser, withPage } = openDemo()

  it('shows figures that move during a scenario', () =>
    withPage({}, async (page) => {
      const run = runScenario(page, 'Retry storm')
      const seen = new Set<number>()
      void run.then(() => seen.add(-1))
      while (!seen.has(-1)) seen.add(await figure(page, 'Denied'))
      expect(seen.size).toBeGreaterThan(5)
    }))

  it('shows the server’s figures during the retry storm', async () => {
    const page = await openRecorded(browser(), demo().url)
    let isOver = false
    const run = runScenario(page, 'Retry storm').finally(() => (isOver = true))
    const server = await serverVersions(demo().url, 'growth-1', () => isOver)
    await run
    const both = [...(await shownVersions(page, 'growth-1'))].filter(([id]) => server.has(id))
    for (const [id, shown] of both) expect([id, shown]).toEqual([id, server.get(id)])
    const during = both.filter(([, { allowed, denied }]) => allowed > 0 && denied < 200)
    expect(during.length).toBeGreaterThan(3)
    await page.close()
  })

  it('shows the server’s figures after the retry storm, and can run it again', () =>
    withPage({}, async (page) => {
      for (const run of ['first', 'second']) {
        const summary = await runScenario(page, 'Retry storm')
        expect(summary, `in the ${run} run`).toContain('260 requests, 60 allowed, 200 denied')
        await expect.poll(() => figure(page, 'Denied')).toBe(200)
        expect(await figure(page, 'Allowed')).toBe(60)
        // 40 jobs were denied five times each, and count once.
        const estimate = page.locator('.sluice-figure', { hasText: 'Not spent, as denied' })
        expect(await estimate.innerText()).toContain('estimate of 40 calls')
        const server = await left(page, 'growth-1', 'feedback')
        const meter = page.getByRole('meter', { name: 'Requests a minute on feedback, growth-1' })
        expect(await meter.getAttribute('aria-valuenow')).toBe(String(60 - (server['rpm'] ?? NaN)))
        const day = page.getByRole('meter', { name: 'Requests a day, growth-1' })
        expect(await day.getAttribute('aria-valuenow')).toBe(
          String(2_000 - (server['daily'] ?? NaN)),
        )
      }
    }))

  it('shows the dollars of the runaway agent as the server counts them', () =>
    withPage({}, async (page) => {
      await runScenario(page, 'Runaway agent')
      const server = await left(page, 'starter-1', 'chat')
      const spent = (50_000 - (server['budget.daily'] ?? NaN)) / 1_000_000
      await expect.poll(() => figure(page, 'Spent')).toBe(Number(spent.toFixed(4)))
      expect(spent).toBeLessThanOrEqual(0.05)
    }))

  it('says that the store is down, and that it answers again', () =>
    withPage({}, async (page) => {
      // On a busy machine, its first calls are over a minute old at its end.
      await page.getByLabel('Time').selectOption('hours')
      await page.getByRole('button', { name: 'Redis down', exact: true }).click()
      await page.getByText(/Store down \(it cannot be reached\)/).waitFor({ timeout: 30_000 })
      await page.getByText('Store answers', { exact: true }).waitFor({ timeout: 60_000 })
      await page.getByText('Redis down is over').waitFor({ timeout: 60_000 })
      expect(await figure(page, 'Without the store')).toBeGreaterThan(0)
      // It ends on what was refused: calls that cost dollars.
      const summary = await page.locator('.scenarios [role=status]').innerText()
      const refused = Number(/(\d+) calls that cost dollars were refused/.exec(summary)?.[1])
      expect(refused).toBeGreaterThan(0)
      await expect.poll(() => figure(page, 'Denied')).toBe(refused)
    }))

  it('gives everything back when it starts over', () =>
    withPage({}, async (page) => {
      // The scraper's day is used up, which is a finding.
      await runScenario(page, 'Scraper')
      const finding = page.locator('.sluice-findings li')
      await finding.first().waitFor({ timeout: 30_000 })
      await page.getByRole('button', { name: 'Start over' }).click()
      await page.getByText('All tenants have their budgets back.').waitFor()
      await expect.poll(() => figure(page, 'Allowed')).toBe(0)
      await page.getByText('Nothing unusual.').waitFor({ timeout: 30_000 })
      expect(await page.getByText('Problems that were reported').count()).toBe(0)
      expect(await left(page, 'growth-1', 'feedback')).toEqual({ daily: 2_000, rpm: 60 })
      expect(await left(page, 'trial-1', 'chat')).toMatchObject({ 'budget.daily': 20_000 })
    }))

  it('shows what policies in shadow would have denied, and problems in words', () =>
    withPage({}, async (page) => {
      const view = {
        ...EMPTY_VIEW,
        shadow: [
          {
            policy: 'next',
            requests: 60,
            denied: 15,
            tokens: 520,
            usd: 30_000,
            tenants: [{ tenant: 'acme', denied: 15 }],
          },
        ],
        problems: [1, 2].map((at) => ({
          code: 'store_unreachable',
          message: `Sluice: ${at} (docs/errors.md#store_unreachable)`,
          at,
          count: at,
        })),
      }
      await show(page, view)
      const row = page.getByRole('region', { name: 'Limits on trial' }).getByRole('row').last()
      expect((await row.innerText()).split('\t')).toEqual([
        'next',
        'acme 15',
        '60',
        '15 (25 %)',
        '520',
        '$0.0300',
      ])
      const problems = page.getByRole('region', { name: 'Problems that were reported' })
      expect(await problems.innerText()).toMatch(
        /without the store: it cannot be reached \(3 times\)/,
      )
      expect(await problems.innerText()).not.toContain('docs/')
      const { violations } = await new AxeBuilder({ page }).analyze()
      expect(violations.map(({ id }) => id)).toEqual([])
    }))

  it('has no chart and no table before the first decision', () =>
    withPage({}, async (page) => {
      await show(page, EMPTY_VIEW)
      await page.getByText('No request yet').waitFor()
      expect(await page.locator('.sluice-chart, .sluice-figure, .sluice table').count()).toBe(0)
      // The demo is set up: it begins with what to press, and has no remedies and no empty card.
      const first = page.locator('.sluice section, .sluice .sluice-card, .card').first()
      expect(await first.innerText()).toMatch(/^Run a scenario\s+Press “Runaway agent”\./)
      expect(await page.getByText('No decision has reached this page yet').count()).toBe(0)
      expect(await page.getByText('Answers, in full detail').count()).toBe(0)
    }))

  it('begins with what happens, and stacks what was denied on what was allowed', () =>
    withPage({}, async (page) => {
      await runScenario(page, 'Retry storm')
      const headline = page.locator('.sluice-headline')
      expect(await headline.innerText()).toMatch(
        /^(Stormy|Unsettled): \d+ % denied in the last minute, about \$[\d.]+ not spent$/,
      )
      await page.locator('.sluice-bar select').first().selectOption('growth-1')
      await page.locator('.sluice-bar select').first().selectOption('')
      await page.getByRole('button', { name: 'Start over' }).click()
      await expect
        .poll(() => headline.innerText())
        .toMatch(/^Quiet: no request in the last minute$/)
    }))

  it('has the colors of the page that it is in, whatever the system prefers', () =>
    withPage({ colorScheme: 'dark' }, async (page) => {
      const colorOf = (): Promise<string> =>
        page.locator('.sluice').evaluate((one) => getComputedStyle(one).color)
      expect(await colorOf()).toBe('rgb(232, 237, 242)')
      await page.evaluate(() => document.documentElement.style.setProperty('color-scheme', 'light'))
      expect(await colorOf()).toBe('rgb(23, 32, 42)')
    }))

  it('leads to the docs', () =>
    withPage({}, async (page) => {
      await page.getByRole('link', { name: 'Docs' }).click()
      await page.getByText('# Getting started').waitFor()
      const { status } = await page.request
        .get(`${demo().url}/docs/%2e%2e%2fpackage.json`)
        .then((answer) => ({
          status: answer.status(),
        }))
      expect(status).toBe(404)
    }))

  it('shows the files behind a scenario, by the keyboard', () =>
    withPage({}, async (page) => {
      await page.getByRole('tab', { name: 'What happens' }).focus()
      await page.keyboard.press('ArrowRight')
      expect(await page.getByRole('tabpanel').innerText()).toContain('runawayAgent: Scenario')
      await page.keyboard.press('ArrowRight')
      expect(await page.getByRole('tabpanel').innerText()).toContain('createLimiter')
    }))

  it('reaches every control by the keyboard', () =>
    withPage({}, async (page) => {
      const controls = await page
        .locator('a[href], button:enabled:not([tabindex="-1"]), select, input, summary')
        .count()
      const reached = new Set<string>()
      for (let step = 0; step < controls + 20; step += 1) {
        await page.keyboard.press('Tab')
        reached.add(
          await page.evaluate(() => {
            const all = [...document.querySelectorAll('a[href], button, select, input, summary')]
            return String(document.activeElement && all.indexOf(document.activeElement))
          }),
        )
      }
      reached.delete('-1')
      expect(reached.size).toBeGreaterThanOrEqual(controls)
    }))

  it('says that the connection is lost, and goes on with what it has missed', async () => {
    await using line = await startLine(demo().url)
    const page = await openDashboard(browser(), line.url)
    const before = await figure(page, 'Allowed')
    line.cut()
    await page.getByText('Connection lost. Trying again …').waitFor()
    const { token } = (await (
      await fetch(`${demo().url}/api/demo/token`, {
        method: 'POST',
        body: '{"tenant":"enterprise-1"}',
      })
    ).json()) as { token: string }
    await fetch(`${demo().url}/api/ai/probe`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}` },
      body: '{"input":"A request that the page has missed."}',
    })
    line.mend()
    await page.getByText('Live', { exact: true }).waitFor()
    await expect.poll(() => figure(page, 'Allowed')).toBe(before + 1)
    await page.context().close()
  })
})

/** Asks the server what is left of a tenant's limits. */
async function left(page: Page, tenant: string, route: string): Promise<Record<string, number>> {
  return page.evaluate(
    async ([name, path]) => {
      const body = JSON.stringify({ tenant: name })
      const answer = await fetch('/api/demo/token', { method: 'POST', body })
      const { token } = (await answer.json()) as { token: string }
      const headers = { authorization: `Bearer ${token}` }
      const { policies } = (await (
        await fetch(`/api/limits?route=${path}`, { headers })
      ).json()) as { policies: { name: string; remaining: number }[] }
      return Object.fromEntries(policies.map((policy) => [policy.name, policy.remaining]))
    },
    [tenant, route] as const,
  )
}
