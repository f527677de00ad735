import { describe, expect, it, vi } from 'vitest'
import { newTenant, type SetUp, type Tenant } from '../support/set-up.ts'

/** Sends an estimate to the handler that reserves it, and settles it if it is told what was used. */
const ask = (tenant: Tenant, estimate: number, used?: number) =>
  tenant.ask('/api/wrapped/reserved', {
    body: String(estimate),
    ...(used !== undefined && { headers: { 'x-used': String(used) } }),
  })

export function describeReserving(setUp: () => SetUp): void {
  describe('a handler that reserves its cost', () => {
    it('settles it, by the request that it got, in two requests to the store', async () => {
      const tenant = newTenant(setUp(), 'one')
      // Loads the scripts.
      await ask(tenant, 10, 1)
      const before = setUp().storeRequests()
      expect((await ask(tenant, 80, 9)).status).toBe(200)
      expect(setUp().storeRequests() - before).toBe(2)
      expect((await ask(tenant, 91)).status).toBe(429)
      expect((await ask(tenant, 90)).status).toBe(200)
    })

    it('ends its call in flight after the response, and keeps the estimate', async () => {
      const tenant = newTenant(setUp(), 'one')
      expect((await ask(tenant, 10)).status).toBe(200)
      await vi.waitFor(async () => expect((await ask(tenant, 90, 0)).status).toBe(200), {
        timeout: 10_000,
      })
      expect((await ask(tenant, 91, 0)).status).toBe(429)
      expect(await tenant.runs()).toBe(2)
    })
  })
}
