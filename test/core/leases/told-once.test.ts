import { createLimiter, manualClock } from '@sluice/core'
import { lease, leased, reserveFromLeases } from '@sluice/core/leases'
import { memory } from '@sluice/core/memory'
import { reserve, settleWithRetry } from '@sluice/core/reservations'
import { usage } from '@sluice/usage/report'
import { describe, expect, it } from 'vitest'
import { ACME } from '../../support/limiters.ts'
import { losingStore, type Loss } from '../../support/losing-store.ts'
import { NOON } from '../../support/times.ts'
import { finish, holdPauses, ledgerOf, listeners, MONEY } from '../../usage/heard.ts'

const [daily, tpm] = MONEY as [(typeof MONEY)[0], (typeof MONEY)[0]]
const COST = { usd: 4_000, token: 400 }

/** Policies of which leases serve all, or a part. */
const POLICIES = {
  'all leased': [lease(daily, { duration: '2s' }), lease(tpm, { duration: '2s' })],
  'one leased': [lease(daily, { duration: '2s' }), tpm],
}

holdPauses()

describe.each(Object.entries(POLICIES))('a reservation from leases, %s,', (_, policies) => {
  it.each<[string, Loss[]]>([
    ['nothing', []],
    ['a request', ['request']],
    ['a reply', ['reply']],
    ['a reply and a request', ['reply', 'request']],
    ['a request and a reply', ['request', 'reply']],
  ])('is told as it is charged if its settlement loses %s', async (_name, losses) => {
    for (const used of [
      { usd: 100, token: 10 },
      { usd: 90_000, token: 9_000 },
    ]) {
      const clock = manualClock(NOON)
      const losing = losingStore(memory())
      const store = leased(losing.store, { reservations: reserveFromLeases })
      const { extensions } = listeners(clock)
      const limiter = createLimiter({ store, clock, policies, onStoreError: 'deny', extensions })
      let expected = { usd: 0, token: 0 }
      for (let call = 0; call < 4; call += 1) {
        const made = await reserve(limiter, ACME, { cost: COST })
        if (!made.allowed) throw new Error(`denied: ${made.reason}`)
        if (call === 3) losing.lose(losses)
        await finish(settleWithRetry(() => made.settle(used)))
        losing.lose([])
        expected = { usd: expected.usd + used.usd, token: expected.token + used.token }
      }
      await store.returnUnits()
      const other = createLimiter({ store: leased(losing.store), clock, policies })
      expect(await ledgerOf(other, 'acme')).toEqual(expected)
      const { rows } = await usage(limiter)
      const spent = rows.map(({ usd, tokens }) => ({ usd, token: tokens }))
      expect(spent).toEqual([expected])
    }
  })
})
