import { createLimiter, fixedWindow, type Store } from '@sluice/core'
import { cacheDenials } from '@sluice/core/cache-denials'
import { expect, it } from 'vitest'
import { bytesInUse } from '../../../support/heap.ts'

const hourly = fixedWindow({ name: 'hourly', limit: 2, window: '1h', per: ['tenant'] })
const IDS = 1_000_000

it(`the memory of denials stays below 5 MB after ${IDS.toLocaleString('en')} distinct ids`, async () => {
  const finding = { fits: false, available: 0, resetMs: 60_000, retryMs: 60_000, charged: false }
  const inner: Store = {
    check: ({ now }) =>
      Promise.resolve({ source: 'store', now, verdicts: [{ ...finding }], values: [] }),
    run: () => expect.unreachable(),
    reset: () => expect.unreachable(),
  }
  const limiter = createLimiter({ store: cacheDenials(inner), policies: [hourly] })
  await limiter.check({ tenant: 'warm' })
  const before = bytesInUse()
  for (let id = 0; id < IDS; id += 1) await limiter.check({ tenant: `distinct-id-${id}` })
  expect(bytesInUse() - before).toBeLessThan(5_000_000)
  expect(await limiter.check({ tenant: `distinct-id-${IDS - 1}` })).toMatchObject({
    source: 'cache',
  })
})
