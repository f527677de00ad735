import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { startWorker, type TestWorker } from './support.ts'

/** The names of handlers, in the order in which they ran. */
let ran: string[] = []
/** Answers the client that waits for the test to say that it goes away. */
const leaving: (() => void)[] = []
const server = createServer((request, response) => {
  if (request.url === '/leave') leaving.push(() => response.end())
  else request.setEncoding('utf8').on('data', (chunk) => ran.push(String(chunk)))
  request.on('end', () => request.url === '/leave' || response.end()).resume()
})

beforeAll(async () => {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
})
afterAll(async () => {
  server.closeAllConnections()
  server.close()
  await once(server, 'close')
})

let worker: TestWorker
beforeEach(() => {
  ran = []
})
afterEach(() => worker[Symbol.asyncDispose]())

/** The Worker that holds requests, behind one that is a client which may go away. */
async function start(variables: Record<string, string> = {}, compatibilityFlags: string[] = []) {
  const { port } = server.address() as AddressInfo
  const url = `http://127.0.0.1:${port}`
  const env = { REPORT_URL: `${url}/ran`, LEAVE_URL: `${url}/leave`, ...variables }
  worker = await startWorker('held', env, { compatibilityFlags, front: 'leaving' })
  // Loads the script, so that from here on each decision is one request to the store.
  await ask('warm', 1, randomUUID())
  ran = []
}

const ask = (name: string, cost: number, tenant: string, headers: Record<string, string> = {}) =>
  fetch(new URL('/api/held', worker.url), {
    method: 'POST',
    headers: { 'x-tenant': tenant, 'x-name': name, ...headers },
    body: String(cost),
  })

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

/**
 * The handlers that ran after a client went away during its delay, with another request delayed
 * longer.
 */
async function ranAfterLeaving(): Promise<string[]> {
  const tenant = randomUUID()
  const before = worker.storeRequests
  const gone = ask('gone', 5, tenant, { 'x-leaves': '1' })
  while (worker.storeRequests === before || leaving.length === 0) await pause(10)
  // For the answer of the store to be back.
  await pause(200)
  leaving.pop()?.()
  expect(await (await gone).text()).toBe('AbortError')
  const stays = await ask('stays', 1, tenant)
  expect(stays.headers.get('x-ratelimit-remaining')).toBe('4')
  return ran
}

describe('a Worker', () => {
  it('delays a request as long as its decision says while others go on', async () => {
    await start()
    const began = performance.now()
    const long = ask('long', 8, randomUUID())
    const short = ask('short', 1, randomUUID())
    const [answer] = await Promise.all([long, short])
    expect(performance.now() - began).toBeGreaterThan(2_000)
    expect(ran).toEqual(['short 1', 'long 8'])
    expect(await answer.text()).toBe('long 8')
    expect(answer.headers.get('x-ratelimit-remaining')).toBe('2')
  })

  it('stops with its client, before it runs the handler', async () => {
    await start()
    expect(await ranAfterLeaving()).toEqual(['stays 1'])
  })

  it('kept alive by other work sees the abort of its request and runs nothing', async () => {
    await start({ BUSY: '1' }, ['enable_request_signal'])
    expect(await ranAfterLeaving()).toEqual(['stays 1'])
  })

  // Why the page says to set the flag.
  it('kept alive by other work sees no abort without the flag', async () => {
    await start({ BUSY: '1' })
    expect(await ranAfterLeaving()).toEqual(['gone 5', 'stays 1'])
  })
})
