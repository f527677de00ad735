import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import { getRequestListener } from '@hono/node-server'
import { createDashboard, dashboardHandler } from '@sluice/dashboard'
import { expect, inject, it, onTestFinished } from 'vitest'
import { openLimiter, TENANTS } from './spender.ts'

const KEY = 'k'.repeat(32)
const SPENDER = fileURLToPath(new URL('spender.ts', import.meta.url))

const messageOf = (child: ChildProcess): Promise<void> =>
  new Promise((resolve, reject) => {
    child.once('message', () => resolve())
    child.once('exit', () => reject(new Error('A process has died')))
  })

it('5,100 tenants of three processes: the page says what the store says, to the micro-dollar', async () => {
  const page = createDashboard()
  const answer = getRequestListener(
    dashboardHandler(page, { authorize: () => true, relayKey: KEY }),
  )
  const server = createServer((request, response) => void answer(request, response))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  const prefix = `many-processes-${process.pid}-${Date.now()}`
  const args = [inject('redisUrl'), prefix, url, KEY]
  const children = [0, 1, 2].map((number) => fork(SPENDER, [...args, String(number)]))
  onTestFinished(() => {
    for (const child of children) child.kill()
  })
  await Promise.all(children.map(messageOf))

  const { limiter, close } = openLimiter(inject('redisUrl'), prefix)
  onTestFinished(async () => void (await close()))
  const usedBy = async (tenant: string): Promise<number> => {
    const { policies } = await limiter.peek({ tenant }, { cost: { usd: 0 } })
    return policies.reduce((sum, { limit, remaining }) => sum + limit - remaining, 0)
  }
  const names = ['burner', ...Array.from({ length: TENANTS }, (_, index) => `t${index}`)]
  const used = await Promise.all(names.map(usedBy))
  const ledger = used.reduce((sum, micro) => sum + micro, 0)
  expect(used[0]).toBe(3 * 299_000_001)
  await expect
    .poll(() => page.view().totals, { timeout: 60_000, interval: 200 })
    .toMatchObject({ usedUsd: ledger, heldUsd: 0, allowed: 2 * TENANTS + 3 })
  const view = page.view()
  expect(view).toMatchObject({ missing: 0, knownTenants: TENANTS + 1, isPartial: false })
  expect(view.tenants.length).toBeLessThanOrEqual(200)
  expect(view.tenants.find(({ tenant }) => tenant === 'burner')?.usedUsd).toBe(used[0])
}, 180_000)
