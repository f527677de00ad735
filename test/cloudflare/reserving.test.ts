import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { startWorker, type TestWorker } from './support.ts'

let worker: TestWorker
let reports = 0
const server = createServer((_, response) => {
  reports += 1
  response.end()
})

beforeAll(async () => {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  worker = await startWorker('reserving', { REPORT_URL: `http://127.0.0.1:${port}` })
  // Loads the scripts, so that from here on each step is one request to the store.
  const tenant = randomUUID()
  for (const path of ['/settle', '/unsettled']) await (await ask(path, tenant)).text()
  await tokensLeft(tenant)
})
afterAll(async () => {
  await worker[Symbol.asyncDispose]()
  server.closeAllConnections()
  server.close()
})

const ask = (path: string, tenant: string, tokens = 10, signal?: AbortSignal) =>
  fetch(new URL(path, worker.url), {
    method: 'POST',
    headers: { 'x-tenant': tenant },
    body: String(tokens),
    ...(signal && { signal }),
  })

/** Resolves when a request is let in again, to the tokens that it leaves. */
function tokensLeft(tenant: string): Promise<number> {
  return vi.waitFor(
    async () => {
      const answer = await ask('/settle', tenant, 1)
      await answer.text()
      expect(answer.status).toBe(200)
      return Number(/"tokens";r=(\d+)/.exec(answer.headers.get('ratelimit') ?? '')?.[1])
    },
    { timeout: 20_000, interval: 100 },
  )
}

describe('a Worker that reserves', () => {
  it('makes one request to Redis to reserve and one to settle', async () => {
    const [tenant, before] = [randomUUID(), worker.storeRequests]
    expect(await (await ask('/settle', tenant)).text()).toBe(tenant)
    expect(worker.storeRequests - before).toBe(2)
    expect(await tokensLeft(tenant)).toBe(98)
  })

  it('frees the slot of what is not settled at the end of its response', async () => {
    const tenant = randomUUID()
    expect(await (await ask('/unsettled', tenant)).text()).toBe('unsettled')
    expect(await tokensLeft(tenant)).toBe(89)
  })

  it('frees the slot when the client goes away, because ctx.waitUntil keeps it running', async () => {
    const tenant = randomUUID()
    const controller = new AbortController()
    const answer = await ask('/endless', tenant, 10, controller.signal)
    await answer.body?.getReader().read()
    expect((await ask('/settle', tenant)).status).toBe(429)
    controller.abort()
    expect(await tokensLeft(tenant)).toBe(89)
  })

  it('settles past the response by the waitUntil of its own entry', async () => {
    const tenant = randomUUID()
    expect(await (await ask('/later', tenant)).text()).toBe('later')
    await vi.waitFor(() => expect(reports).toBe(1), { timeout: 20_000 })
    expect(await tokensLeft(tenant)).toBe(97)
  })

  // Why a detached waitUntil is caught and logged.
  it('would throw if waitUntil were called detached from ctx', async () => {
    expect(await (await ask('/unbound', randomUUID())).text()).toContain('Illegal invocation')
  })
})
