import { cpSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import { budget, usd } from '@sluice/ai'
import { createLimiter, slidingWindow } from '@sluice/core'
import { upstash } from '@sluice/core/upstash'
import { createDashboard, dashboardHandler } from '@sluice/dashboard'
import { startLocal, type LocalServer } from '@sluice/local'
import { recordUsage } from '@sluice/usage'
import { usage } from '@sluice/usage/report'
import { getRequestListener } from '@hono/node-server'
import { afterAll, beforeAll, expect, inject, it } from 'vitest'
import { nextBuild, start, type RunningApp } from '../next/support/build.ts'
import { tcpProxy, type TcpProxy } from '../support/tcp-proxy.ts'

const KEY = 'k'.repeat(32)
const PRICE = 1_234
const PREFIX = `three-processes-${process.pid}-${Date.now()}`
const source = fileURLToPath(new URL('./next-app', import.meta.url))
/** Inside the workspace, so that the packages are found; ignored by git and the tools. */
const folder = fileURLToPath(new URL('./dist/three processes', import.meta.url))

const LIMITS = `import { budget, usd } from '@sluice/ai'
import { createLimiter, slidingWindow } from '@sluice/core'
import { upstash } from '@sluice/core/upstash'
import { relay } from '@sluice/dashboard/relay'
import { prometheus } from '@sluice/otel/prometheus'
import { recordUsage } from '@sluice/usage'

export const limiter = createLimiter({
  store: upstash({ timeoutMs: 30_000, prefix: '${PREFIX}' }),
  policies: [
    budget({ daily: usd(1_000), per: ['tenant'] }),
    slidingWindow({ name: 'rpm', limit: 200, window: '1h', per: ['tenant'] }),
  ],
  extensions: [
    relay({ target: () => ({ url: process.env['PAGE'] ?? '', key: '${KEY}' }) }),
    prometheus({ name: 'app' }),
    recordUsage({ tenants: 'plain', flushEvery: '1s' }),
  ],
})
`
const PROXY = `import { rateLimit } from '@sluice/next'
import { limiter } from './limits'

export const proxy = rateLimit(limiter, {
  routes: [{ path: '/api/ai/**', cost: { usd: ${PRICE} } }],
  subject: (request) => ({ tenant: request.headers.get('x-tenant') ?? 'nobody' }),
})
export const config = { matcher: ['/api/ai/:path*'] }
`

const page = createDashboard()
const answer = getRequestListener(dashboardHandler(page, { authorize: () => true, relayKey: KEY }))
const server = createServer((request, response) => void answer(request, response))
let local: LocalServer
let line: TcpProxy
let apps: RunningApp[]
/** The answers that clients got, by tenant. */
const answered: Record<string, { allowed: number; denied: number }> = {}

beforeAll(async () => {
  rmSync(folder, { recursive: true, force: true })
  cpSync(source, folder, { recursive: true })
  rmSync(`${folder}/app/dashboard`, { recursive: true })
  rmSync(`${folder}/app/api/dashboard`, { recursive: true })
  writeFileSync(`${folder}/limits.ts`, LIMITS)
  writeFileSync(`${folder}/proxy.ts`, PROXY)
  await nextBuild(folder)
  local = await startLocal({ redisUrl: inject('redisUrl') })
  line = await tcpProxy(local.url)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const env = {
    UPSTASH_REDIS_REST_URL: `http://127.0.0.1:${line.port}`,
    UPSTASH_REDIS_REST_TOKEN: local.token,
    PAGE: `http://127.0.0.1:${(server.address() as AddressInfo).port}/api/dashboard`,
  }
  apps = await Promise.all([0, 1, 2].map(() => start({ folder }, env)))
}, 120_000)

afterAll(async () => {
  await Promise.all(apps.map((app) => app.stop().catch(() => undefined)))
  server.closeAllConnections()
  server.close()
  await line.close()
  await local.close()
})

async function send(app: RunningApp, tenant: string, times: number): Promise<void> {
  const counts = (answered[tenant] ??= { allowed: 0, denied: 0 })
  const one = async (): Promise<void> => {
    const response = await fetch(`${app.url}/api/ai/evaluate`, {
      method: 'POST',
      headers: { 'x-tenant': tenant },
    })
    await response.body?.cancel()
    counts[response.ok ? 'allowed' : 'denied'] += 1
  }
  await Promise.all(Array.from({ length: times }, one))
}

const reader = () =>
  createLimiter({
    store: upstash({ url: local.url, token: local.token, prefix: PREFIX, timeoutMs: 30_000 }),
    policies: [
      budget({ daily: usd(1_000), per: ['tenant'] }),
      slidingWindow({ name: 'rpm', limit: 200, window: '1h', per: ['tenant'] }),
    ],
    extensions: [recordUsage({ tenants: 'plain' })],
  })

/** Reads the figures of all tenants together from the page, the usage, the metrics and the store. */
async function readAll(alive: readonly RunningApp[]) {
  const { totals, missing } = page.view()
  const { rows } = await usage(reader(), { from: Date.now() - 7_200_000 })
  const sum = (pick: (row: (typeof rows)[number]) => number): number =>
    rows.reduce((total, row) => total + pick(row), 0)
  const texts = await Promise.all(
    alive.map(async (app) => (await fetch(`${app.url}/api/metrics`)).text()),
  )
  const metric = (pattern: RegExp): number =>
    [...texts.join('\n').matchAll(pattern)].reduce((all, [, found]) => all + Number(found), 0)
  const used = await Promise.all(
    Object.keys(answered).map(async (tenant) => {
      const { policies } = await reader().peek({ tenant }, { cost: { request: 0, usd: 0 } })
      return policies.map(({ limit, remaining }) => limit - remaining)
    }),
  )
  return {
    page: { allowed: totals.allowed, denied: totals.denied, usd: totals.usedUsd, missing },
    usage: {
      allowed: sum(({ outcome, requests }) => (outcome === 'allowed' ? requests : 0)),
      denied: sum(({ outcome, requests }) => (outcome === 'allowed' ? 0 : requests)),
      usd: sum(({ outcome, usd: spent }) => (outcome === 'allowed' ? spent : 0)),
    },
    metrics: {
      allowed: metric(/^rate_limiter_decisions_total\{.*outcome="allowed".*\} (\d+)$/gm),
      denied: metric(/^rate_limiter_decisions_total\{.*outcome="denied".*\} (\d+)$/gm),
      usd: Math.round(
        metric(/^rate_limiter_cost_usd_total\{.*state="charged".*\} ([\d.]+)$/gm) * 1e6,
      ),
    },
    store: {
      usd: used.reduce((total, [dollars = 0]) => total + dollars, 0),
      requests: used.reduce((total, [, requests = 0]) => total + requests, 0),
    },
  }
}

const total = (name: 'allowed' | 'denied'): number =>
  Object.values(answered).reduce((sum, counts) => sum + counts[name], 0)

it('three processes behind a built proxy.ts: page, usage, metrics and store say the same', async () => {
  // A storm: each tenant sends more than its limit, to all three at once.
  await Promise.all(apps.flatMap((app) => ['acme', 'beta'].map((tenant) => send(app, tenant, 100))))
  expect([total('allowed'), total('denied')]).toEqual([400, 200])
  const same = { allowed: 400, denied: 200, usd: 400 * PRICE }
  await expect
    .poll(() => readAll(apps), { interval: 500 })
    .toEqual({
      page: { ...same, missing: 0 },
      usage: same,
      metrics: same,
      store: { usd: same.usd, requests: 400 },
    })

  // A dead Redis: a budget in dollars denies, and what is counted meanwhile is saved later.
  line.behaviour = { request: (_, client) => (client.destroy(), false) }
  await Promise.all(apps.map((app) => send(app, 'gamma', 20)))
  line.behaviour = {}
  await Promise.all(apps.map((app) => send(app, 'gamma', 1)))
  const now = { allowed: total('allowed'), denied: total('denied') }
  const spent = { ...now, usd: now.allowed * PRICE }
  await expect
    .poll(() => readAll(apps), { interval: 500 })
    .toMatchObject({ page: { ...spent, missing: 0 }, usage: spent, metrics: spent })

  // A process that dies keeps to itself what it had not sent: here at most 20 requests.
  const [first, second, dying] = apps
  if (!first || !second || !dying) throw new Error('There are three processes')
  await send(dying, 'delta', 20)
  await dying.kill()
  await send(first, 'delta', 1)
  await send(second, 'delta', 1)
  const all = total('allowed')
  const counted = async (): Promise<Awaited<ReturnType<typeof readAll>>> => readAll([first, second])
  await expect.poll(async () => (await counted()).store.requests, { interval: 500 }).toBe(all)
  expect((await counted()).store.usd).toBe(all * PRICE)
  for (const place of ['page', 'usage'] as const) {
    const allowed = async (): Promise<number> => (await counted())[place].allowed
    await expect.poll(allowed, { interval: 500 }).toBeGreaterThanOrEqual(all - 20)
    expect(await allowed()).toBeLessThanOrEqual(all)
  }
}, 120_000)
