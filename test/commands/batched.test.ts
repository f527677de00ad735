import { readFileSync } from 'node:fs'
import { createLimiter, dailyCap, slidingWindow } from '@sluice/core'
import { batched } from '@sluice/core/batched'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { tableOf } from '../support/markdown.ts'
import { ownRedis } from '../support/running-redis.ts'

const page = readFileSync(new URL('../../docs/fewer-trips.md', import.meta.url), 'utf8')
const CHECKS = 32

// Every command on this Redis is counted, so it is shared with nobody.
const own = ownRedis()

// A busy machine may take longer between two checks than a call waits for.
beforeAll(() => void vi.useFakeTimers({ toFake: ['Date'] }))
afterAll(() => void vi.useRealTimers())

/** Counts the commands of checks that begin at once, of so many tenants, whose keys exist. */
async function commandsOf(tenants: number): Promise<number> {
  const limiter = createLimiter({
    store: batched(own.store()),
    policies: [
      dailyCap({ name: 'daily', limit: 30_000, per: ['tenant'] }),
      slidingWindow({ name: 'rpm', limit: 1_000, window: '1m', per: ['tenant'] }),
    ],
  })
  const checks = () =>
    Promise.all(
      Array.from({ length: CHECKS }, (_, index) =>
        limiter.check({ tenant: `t${index % tenants}` }),
      ),
    )
  await checks()
  await checks()
  const { total } = await own.meter.measure(async () => {
    expect((await checks()).filter(({ allowed, degraded }) => !allowed || degraded)).toEqual([])
  })
  return total
}

const ROWS = { 'of 32 tenants': 32, 'of 8 tenants': 8, 'of one tenant': 1 }

it('checks that share a script call take as many commands as the page states', async () => {
  const published = tableOf(page, 'daily cap and window, 32 checks at once')
  expect([...published.keys()]).toEqual(Object.keys(ROWS))
  for (const [name, tenants] of Object.entries(ROWS)) {
    const total = await commandsOf(tenants)
    expect(published.get(name)).toMatchObject({
      'commands of the call': String(total),
      'per decision': (total / CHECKS).toFixed(2),
    })
  }
})
