import { AxeBuilder } from '@axe-core/playwright'
import { createAdaptorServer } from '@hono/node-server'
import { slidingWindow, type Extension, type Limiter } from '@sluice/core'
import { createDashboard, dashboardHandler } from '@sluice/dashboard'
import { dashboardPage } from '@sluice/dashboard/page'
import { whyDenied } from '@sluice/dashboard/why'
import { flushUsage, recordUsage } from '@sluice/usage'
import { denialId, flushDenials, recordDenials } from '@sluice/usage/denials'
import type { Browser, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { listen, type Served } from '../../adapters/support.ts'
import { sharedRedis } from '../../support/running-redis.ts'
import { BROWSER, openBrowser } from './browser.ts'

const CHAT = { tenant: 'acme', route: 'chat' }

type OpenOptions = Parameters<Browser['newContext']>[0] & {
  /** No request has been sent. */
  readonly isQuiet?: boolean
}

/** Uses 90 of 100 tokens, and is denied 22 more with the id `req_7`. */
async function sendRequests(limiter: Limiter): Promise<void> {
  await limiter.check(CHAT, { cost: { token: 90 } })
  const denied = await limiter.check(CHAT, { cost: { token: 22 } })
  const headers = { 'x-request-id': 'req_7' }
  if (!denied.allowed) denialId()(denied, new Request('https://app.example', { headers }))
}

const panel = (page: Page) => page.getByRole('region', { name: 'Why is it denied?' })

/** Presses the button. Resolves to the lines of the answer, which begins so. */
async function ask(page: Page, beginning: string): Promise<string[]> {
  await panel(page).getByRole('button', { name: 'Ask' }).click()
  const status = panel(page).getByRole('status').filter({ hasText: beginning })
  await status.waitFor()
  return (await status.innerText()).split('\n')
}

describe.skipIf(BROWSER === undefined)('the question on a page in a browser', () => {
  const redis = sharedRedis()
  let browser: Browser
  const served: Served[] = []
  beforeAll(async () => {
    browser = await openBrowser()
  })
  afterEach(async () => {
    await Promise.all(browser.contexts().map((context) => context.close()))
    await Promise.all(served.splice(0).map((one) => one.close()))
  })
  afterAll(() => browser.close())

  /** Serves a page about a limiter whose tenant has 10 of 100 tokens left, and opens it. */
  async function open(
    extensions: readonly Extension[],
    { isQuiet = false, ...options }: OpenOptions = {},
  ): Promise<{ page: Page; limiter: Limiter }> {
    const dashboard = createDashboard()
    const { limiter } = redis.setUp(
      [
        slidingWindow({ name: 'tpm', unit: 'token', limit: 100, window: '1h', per: ['tenant'] }),
        slidingWindow({ name: 'rpm', limit: 60, window: '1h', per: ['tenant', 'route'] }),
      ],
      { extensions: [dashboard.watch({ name: 'api' }), ...extensions] },
    )
    if (!isQuiet) await sendRequests(limiter)
    const handler = dashboardHandler(dashboard, {
      authorize: () => true,
      why: whyDenied({ api: limiter }),
    })
    const fetch = (request: Request): Response | Promise<Response> =>
      new URL(request.url).pathname === '/' ? dashboardPage({ url: '/stream' }) : handler(request)
    const server = await listen(createAdaptorServer({ fetch }))
    served.push(server)
    const page = await (await browser.newContext(options)).newPage()
    await page.goto(server.url)
    await page.getByText('Live', { exact: true }).waitFor()
    return { page, limiter }
  }

  it('tells what denies the chosen tenant, and when this very cost fits', async () => {
    const { page, limiter } = await open([recordUsage({ tenants: 'plain' })])
    await flushUsage(limiter)
    const complaints: string[] = []
    page.on('console', (message) => complaints.push(message.text()))
    await page.getByRole('button', { name: 'acme' }).click()
    // The route is that of the policy which has denied it.
    const first = await ask(page, 'tenant=acme route=chat')
    expect(first[2]).toBe('Allowed.')
    await panel(page).getByLabel('Tokens').fill('22')
    const answer = await ask(page, 'Denied by tpm')
    expect(answer).toEqual([
      'tenant=acme route=chat',
      'It asks for 22 tokens and 1 request.',
      'Denied by tpm: 90 of 100 tokens used, and it asks for 22.',
      expect.stringMatching(/^ {2}It fits in \S+( \S+)? if nothing else is charged\.$/),
      '  It fits now with 12 tokens less.',
      '  It fits now with a limit of 112 for tpm.',
      '  rpm: 1 of 60 requests used',
      'Used in the last hours, as recorded:',
      '  chat: 1 request, 90 tokens',
    ])
    expect(complaints).toEqual([])
  })

  it('leads from the id of a 429 to its decision', async () => {
    const { page, limiter } = await open([recordDenials({ flushEvery: '1h' })])
    await flushDenials(limiter)
    await panel(page).getByLabel('Tenant').fill('acme')
    await panel(page).getByLabel('Id of a denial').fill('req_7')
    const answer = await ask(page, 'Denied by tpm')
    expect(answer[1]).toBe('Denied by tpm: 90 of 100 tokens used, and it asked for 22.')
    await panel(page).getByLabel('Id of a denial').fill('req_8')
    await ask(page, 'acme has no recorded denial with the id req_8')
    await panel(page).getByLabel('Tenant').fill('globex')
    await panel(page).getByLabel('Id of a denial').fill('req_7')
    await ask(page, 'globex has no recorded denial with the id req_7')
  })

  it('says how to record denials, where none are, before the first decision too', async () => {
    const { page } = await open([], { isQuiet: true })
    await page.getByText('No decision has reached this page yet').waitFor()
    await panel(page).getByLabel('Tenant').fill('acme')
    await panel(page).getByLabel('Id of a denial').fill('req_7')
    const answer = await ask(page, 'denials are not recorded')
    expect(answer[0]).toContain('Add recordDenials() of @sluice/usage/denials')
  })

  it.each([
    ['light', 1280],
    ['dark', 390],
  ] as const)(
    'has nothing that axe finds, and no sideways scroll: %s, %i px',
    async (colorScheme, width) => {
      const viewport = { width, height: 800 }
      const { page } = await open([], { colorScheme, viewport, bypassCSP: true })
      await panel(page).getByLabel('Tenant').fill('acme')
      await ask(page, 'tenant=acme route=chat')
      const { violations } = await new AxeBuilder({ page }).analyze()
      expect(violations.map(({ id, nodes }) => [id, nodes[0]?.html])).toEqual([])
      const overflow = await page.evaluate(
        () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
      )
      expect(overflow).toBeLessThanOrEqual(0)
    },
  )
})
