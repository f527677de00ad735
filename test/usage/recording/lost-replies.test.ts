import type { OnStoreError } from '@sluice/core'
import { reserve, settleWithRetry, type Reservation, type Settled } from '@sluice/core/reservations'
import { describe, expect, it } from 'vitest'
import { ACME } from '../../support/limiters.ts'
import type { Loss } from '../../support/losing-store.ts'
import { finish, FIRST, holdPauses, ledgerOf, minusFirst, setUp, type Spent } from '../heard.ts'

const MODES = ['deny', 'allow', 'local'] as const satisfies OnStoreError[]
const ESTIMATE: Spent = { usd: 44_500, token: 4_000 }

/** The ways in which a call ends, and the units that it is charged then. */
const ENDS: Record<string, { end: (call: Reservation) => Promise<Settled>; units: Spent }> = {
  'settled lower': settledAt({ usd: 7_000, token: 700 }),
  'settled higher': settledAt({ usd: 50_000, token: 5_000 }),
  'settled as estimated': settledAt(ESTIMATE),
  cancelled: { end: (call) => call.cancel(), units: { usd: 0, token: 0 } },
}

function settledAt(units: Spent): { end: (call: Reservation) => Promise<Settled>; units: Spent } {
  return { end: (call) => call.settle({ ...units }), units }
}

/** Every way to lose up to three calls, one after another. */
const LOSSES: Loss[][] = [[]]
for (const before of LOSSES) {
  if (before.length < 3) LOSSES.push([...before, 'request'], [...before, 'reply'])
}

/** The most by which listeners differ from what is charged, in any unit. */
function offBy(told: Readonly<Record<string, Spent>>, { usd, token }: Spent): number {
  const differences = Object.values(told).flatMap((one) => [
    Math.abs(one.usd - FIRST.usd - usd),
    Math.abs(one.token - FIRST.token - token),
  ])
  return Math.max(...differences)
}

holdPauses()

describe.each(MODES)('with onStoreError %s', (mode) => {
  describe.each<[string, Loss]>([
    ['a decision that arrives', undefined],
    ['a decision that is lost', 'request'],
    ['a decision whose reply is lost', 'reply'],
  ])('%s', (_, decision) => {
    it.each(LOSSES.map((losses) => [losses.join(', ') || 'nothing', losses] as const))(
      'and a settlement that loses %s: all listeners have what is charged',
      async (_name, losses) => {
        for (const [name, { end, units }] of Object.entries(ENDS)) {
          const { clock, losing, limiter, codes, heard } = await setUp(mode)
          losing.lose([decision, ...losses])
          const works: Promise<unknown>[] = []
          const waitUntil = (work: Promise<unknown>): void => void works.push(work)
          const call = await reserve(limiter, ACME, { cost: { ...ESTIMATE }, waitUntil })
          let isAnswered: boolean
          if (call.allowed) {
            const settled = await finish(settleWithRetry(() => end(call)))
            isAnswered = !(settled instanceof Error || settled.storeFailed)
          } else {
            await finish(Promise.all(works))
            isAnswered = !codes().includes('reservation_lost')
          }
          const isInMemory = mode === 'local' && decision === 'request'
          losing.lose([])
          // A dashboard compares what it has heard with the store's count, once nothing can be on its way.
          clock.advance(60_000)
          await limiter.check(ACME, { cost: { usd: 0, token: 0 } })
          const stored = minusFirst(await ledgerOf(limiter, 'acme'))
          const charged = isInMemory ? units : stored
          const { dashboard, ...others } = await heard()
          expect(isAnswered || losses.length === 3, `a call ${name}`).toBe(true)
          // Without an answer, nobody knows what is charged: each listener is off by one call at most.
          const most = Math.max(ESTIMATE.usd, units.usd)
          expect(offBy(others, charged), `a call ${name}`).toBeLessThanOrEqual(
            isAnswered ? 0 : most,
          )
          // Told from this process's memory, a dashboard has it beside the count of the store, which has it, too.
          const isTwice = mode === 'local' && decision === 'reply' && losses.length > 0
          const off = offBy({ dashboard }, charged)
          expect(off, `a call ${name}`).toBeLessThanOrEqual(isAnswered && !isTwice ? 0 : most)
        }
      },
    )
  })
})
