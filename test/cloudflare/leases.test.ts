import { randomUUID } from 'node:crypto'
import type { Decision } from '@sluice/core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startWorker, type TestWorker } from './support.ts'

const LIMIT = 400

let worker: TestWorker
beforeAll(async () => {
  worker = await startWorker('leasing', { LIMIT: String(LIMIT) })
})
afterAll(() => worker[Symbol.asyncDispose]())

const ask = async (tenant: string): Promise<Decision> => {
  const answer = await fetch(worker.url, { headers: { 'x-tenant': tenant } })
  return (await answer.json()) as Decision
}

const sourcesOf = (decisions: readonly Decision[]): Set<string> =>
  new Set(decisions.map(({ source }) => source))

describe('leases in a Worker', () => {
  it('serve its requests, one after another, from blocks that other requests have taken', async () => {
    const tenant = randomUUID()
    await ask(tenant)
    const before = worker.storeRequests
    const decisions: Decision[] = []
    for (let time = 0; time < 100; time += 1) decisions.push(await ask(tenant))
    expect(decisions.filter(({ allowed, degraded }) => !allowed || degraded)).toEqual([])
    expect(sourcesOf(decisions)).toEqual(new Set(['store', 'lease']))
    expect(worker.storeRequests - before).toBeLessThanOrEqual(25)
  })

  it('serve many at once, and never more than the limit', async () => {
    const tenant = randomUUID()
    const decisions: Decision[] = []
    for (let round = 0; round < 10; round += 1) {
      decisions.push(...(await Promise.all(Array.from({ length: 50 }, () => ask(tenant)))))
    }
    expect(decisions.filter(({ degraded }) => degraded)).toEqual([])
    const allowed = decisions.filter((decision) => decision.allowed)
    expect(sourcesOf(allowed)).toEqual(new Set(['store', 'lease']))
    expect(allowed.length).toBeLessThanOrEqual(LIMIT)
    expect(allowed.length).toBeGreaterThan(LIMIT / 2)
  })
})
