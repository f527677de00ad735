import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { startWorker, type TestWorker } from '../cloudflare/support.ts'

interface Report {
  readonly what: 'handled' | 'failed' | 'dead'
  readonly id: string
  readonly attempts: number
  readonly at: number
}

let reports: Report[] = []
const server = createServer((request, response) => {
  let line = ''
  request.setEncoding('utf8').on('data', (chunk) => (line += String(chunk)))
  request.on('end', () => {
    const report = JSON.parse(line) as Report
    reports.push(report)
    server.emit('report', report)
    response.end()
  })
})

let worker: TestWorker
beforeAll(async () => {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  worker = await startWorker(
    'jobs',
    { REPORT_URL: `http://127.0.0.1:${port}` },
    {
      env: { JOBS: { type: 'queue', name: 'jobs' } },
      triggers: [
        { type: 'queue', name: 'jobs', maxBatchTimeout: 1, maxRetries: 2, deadLetterQueue: 'dead' },
        { type: 'queue', name: 'dead', maxBatchTimeout: 1 },
      ],
    },
  )
})
beforeEach(() => {
  reports = []
})
afterAll(async () => {
  await worker[Symbol.asyncDispose]()
  server.closeAllConnections()
  server.close()
  await once(server, 'close')
})

const send = (...jobs: object[]) =>
  fetch(worker.url, { method: 'POST', body: JSON.stringify(jobs) })

/** Waits until so many of these reports have come. */
async function until(count: number, what: Report['what']): Promise<Report[]> {
  const found = () => reports.filter((report) => report.what === what)
  while (found().length < count) await once(server, 'report')
  return found()
}

describe('a queue behind a limit', () => {
  it('handles messages that fit and retries denied ones after the delay of the decision', async () => {
    const tenant = randomUUID()
    await send({ id: 'a', tenant }, { id: 'b', tenant }, { id: 'c', tenant })
    const handled = await until(3, 'handled')
    expect(handled.map(({ id }) => id)).toEqual(['a', 'b', 'c'])
    expect(handled.map(({ attempts }) => attempts)).toEqual([1, 1, 2])
    const [first, , last] = handled
    // Two in any three seconds. The reports are a little later than the charges that they follow.
    expect((last?.at ?? 0) - (first?.at ?? 0)).toBeGreaterThan(2_500)
  })

  it('handles all others when a message has no subject or its handler throws', async () => {
    const tenant = randomUUID()
    await send({ id: 'poison' }, { id: 'fails', tenant, fails: true }, { id: 'good', tenant })
    expect((await until(1, 'handled'))[0]).toMatchObject({ id: 'good', attempts: 1 })
    const dead = await until(2, 'dead')
    expect(new Set(dead.map(({ id }) => id))).toEqual(new Set(['poison', 'fails']))
    // A try and two more, each of them charged, and not one after that.
    expect(reports.filter(({ what }) => what === 'failed').length).toBeLessThanOrEqual(3)
    expect(reports.filter(({ what }) => what === 'handled')).toHaveLength(1)
  })
})
