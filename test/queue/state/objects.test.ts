import { createLimiter, slidingWindow } from '@sluice/core'
import { limitedQueue } from '@sluice/queue'
import { expect, it } from 'vitest'
import { objectsInProcess, storeIn } from '../../support/objects.ts'

it('a store in Durable Objects refuses a queue, and says so', async () => {
  const limiter = createLimiter({
    store: storeIn(objectsInProcess({}).namespace),
    policies: [slidingWindow({ name: 'rpm', limit: 1, window: '1m', per: ['tenant'] })],
  })
  const queue = limitedQueue(limiter, { name: 'q' })
  const added = queue.add(1, { subject: { tenant: 'acme' } })
  await expect(added).rejects.toMatchObject({
    code: 'store_refused',
    message: expect.stringContaining('"queue.add"') as string,
  })
})
