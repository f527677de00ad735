import type { Store } from '@sluice/core'
import { reserve } from '@sluice/core/reservations'
import { flushUsage, usageOperations } from '@sluice/usage'
import { usage } from '@sluice/usage/report'
import { expect, it } from 'vitest'
import { limiterFor } from '../../apps/worker/src/limits.ts'
import { MODELS as NAMED } from '../support/models.ts'
import { objectsInProcess } from '../support/objects.ts'

/** The characters that an object holds, and the cells, hours and days that the gateway keeps. */
const ROOM = 16_000_000
const CELLS = 1_200
const PERIODS = 24 + 35 + 4

it('leaves a quarter of the object home to keys, however long the gateway counts', async () => {
  const objects = objectsInProcess({ operations: usageOperations })
  let sent = 0
  const store: Store = objects.store()
  const counting: Store = {
    ...store,
    run: (operation) => {
      if (operation.kind.name === 'usage.add') sent += JSON.stringify(operation.data).length
      return store.run(operation)
    },
  }
  const limiter = limiterFor(counting, { isInHome: true })
  const cost = { request: 1, token: 2_000, usd: 50_000, call: 1 }
  for (let at = 0; at < 80; at += 1) {
    const subject = {
      tenant: `organisation-${at}`,
      team: `team-of-${at}`,
      user: `user_${at}@example.com`,
      key: `key_0123456789abcd${at}`,
      run: undefined,
      plan: 'growth',
      model: NAMED.anthropic,
    }
    const call = await reserve(limiter, subject, { cost })
    if (call.allowed) await call.settle({ token: 1_234, usd: 33_000 })
  }
  await flushUsage(limiter)
  const { rows, policies } = await usage(limiter)
  const perCell = sent / (rows.length + policies.length)
  expect(perCell).toBeGreaterThan(100)
  expect(perCell * CELLS * PERIODS).toBeLessThan(0.75 * ROOM)
})
