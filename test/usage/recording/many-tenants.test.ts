import { createLimiter, listen, manualClock } from '@sluice/core'
import { memory } from '@sluice/core/memory'
import { reserve, settleWithRetry } from '@sluice/core/reservations'
import { usage } from '@sluice/usage/report'
import { expect, it } from 'vitest'
import { losingStore, type Loss } from '../../support/losing-store.ts'
import { NOON } from '../../support/times.ts'
import { finish, holdPauses, ledgerOf, listeners, MONEY } from '../heard.ts'

const TENANTS = 200
const CALLS = 5_000
/** One request in fifty is lost, and one reply in fifty. */
const LOST = 0.02

holdPauses()

/** A generator of numbers from 0 to 1, the same in each run. */
function randomNumbers(seed: number): () => number {
  let state = seed
  return () => {
    state = (state * 48_271) % 2_147_483_647
    return state / 2_147_483_647
  }
}

it.each(['deny', 'allow', 'local'] as const)(
  'rows have the dollars of the ledger for each of 200 tenants after 5,000 calls with lost requests and replies: %s',
  async (onStoreError) => {
    const random = randomNumbers(20_261_128)
    const clock = manualClock(NOON)
    const losing = losingStore(memory())
    const { extensions } = listeners(clock)
    const limiter = createLimiter({
      store: losing.store,
      clock,
      policies: MONEY,
      onStoreError,
      extensions: [...extensions, listen({ problem: () => {} })],
    })
    /** Micro-dollars that this process has charged in its memory alone. */
    const inMemory = new Map<string, number>()
    let lost = 0
    const draw = (): Loss => {
      const at = random()
      const loss = at < LOST ? 'request' : at < 2 * LOST ? 'reply' : undefined
      if (loss) lost += 1
      return loss
    }
    for (let call = 0; call < CALLS; call += 1) {
      const tenant = `t${Math.floor(random() * TENANTS)}`
      const estimate = 1 + Math.floor(random() * 50_000)
      const used = Math.floor(random() * 1.2 * estimate)
      const works: Promise<unknown>[] = []
      const losses = [draw(), draw(), draw()]
      losing.lose(losses)
      const made = await reserve(
        limiter,
        { tenant },
        { cost: { usd: estimate, token: 1 }, waitUntil: (work) => void works.push(work) },
      )
      if (!made.allowed) await finish(Promise.all(works))
      else {
        await finish(settleWithRetry(() => made.settle({ usd: used, token: 1 })))
        if (onStoreError === 'local' && losses[0] === 'request')
          inMemory.set(tenant, (inMemory.get(tenant) ?? 0) + used)
      }
    }
    expect(lost).toBeGreaterThan(300)
    losing.lose([])
    const { rows } = await usage(limiter)
    const told = new Map<string, number>()
    for (const { tenant, outcome, usd } of rows) {
      if (outcome === 'allowed') told.set(tenant, (told.get(tenant) ?? 0) + usd)
    }
    const differences: string[] = []
    for (let at = 0; at < TENANTS; at += 1) {
      const tenant = `t${at}`
      const { usd } = await ledgerOf(limiter, tenant)
      const charged = usd + (inMemory.get(tenant) ?? 0)
      if (told.get(tenant) !== charged)
        differences.push(`${tenant}: ${told.get(tenant)}, ${charged}`)
    }
    expect(told.size).toBe(TENANTS)
    expect(differences).toEqual([])
  },
)
