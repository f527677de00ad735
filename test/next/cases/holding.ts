import { describe, expect, it } from 'vitest'
import { canonical, newTenant, type SetUp, type Tenant } from '../support/set-up.ts'

const WAYS: Readonly<Record<string, string>> = {
  'in the middleware': '/api/held/evaluate',
  'by the wrapper': '/api/wrapped/held',
}

/** Requests that cost what their body says, and are held the longer the more of ten is used up. */
export function describeHolding(setUp: () => SetUp): void {
  describe.each(Object.entries(WAYS))('a request that is delayed %s', (_, path) => {
    const ask = (tenant: Tenant, cost: number) => tenant.ask(path, { body: String(cost) })

    it('waits while others go on, and keeps its body', async () => {
      const began = performance.now()
      const order: string[] = []
      const answers = [8, 1].map(async (cost) => {
        const answer = await ask(newTenant(setUp(), 'twenty'), cost)
        order.push(`${cost}: ${answer.status} ${String(answer.headers['x-body'])}`)
      })
      await Promise.all(answers)
      expect(performance.now() - began).toBeGreaterThan(2_000)
      expect(order).toEqual(['1: 200 1', '8: 200 8'])
    })

    it('runs nothing if its client goes away meanwhile, and stays charged', async () => {
      const tenant = newTenant(setUp(), 'twenty')
      const controller = new AbortController()
      const before = setUp().storeRequests()
      const gone = fetch(setUp().url + canonical(setUp(), path), {
        method: 'POST',
        headers: tenant.headers as Record<string, string>,
        body: '5',
        signal: controller.signal,
      }).catch((error: Error) => error.name)
      while (setUp().storeRequests() === before) await pause(10)
      // For the answer of the store to be back.
      await pause(200)
      controller.abort()
      expect(await gone).toBe('AbortError')
      // It is held for longer than the other was, which would have run by then.
      expect((await ask(tenant, 1)).headers['x-ratelimit-remaining']).toEqual(['4'])
      expect(await tenant.runs()).toBe(1)
    })
  })
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))
