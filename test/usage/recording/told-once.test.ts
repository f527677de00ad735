import { createLimiter, listen, manualClock, type Limiter } from '@sluice/core'
import { memory } from '@sluice/core/memory'
import {
  cancelById,
  release,
  reservation,
  reserve,
  settleWithRetry,
  sweepUnsettled,
  type ReserveOptions,
} from '@sluice/core/reservations'
import { describe, expect, it } from 'vitest'
import { ACME } from '../../support/limiters.ts'
import { losingStore, type Loss } from '../../support/losing-store.ts'
import { NOON } from '../../support/times.ts'
import { finish, heardBy, holdPauses, ledgerOf, minusFirst, MONEY, setUp } from '../heard.ts'

const COST = { usd: 40_000, token: 4_000 }
const USED = { usd: 7_000, token: 700 }
const NONE = { usd: 0, token: 0 }

holdPauses()

async function mustReserve(limiter: Limiter, options: ReserveOptions = {}) {
  const call = await reserve(limiter, ACME, { cost: COST, ...options })
  if (!call.allowed) throw new Error(`denied: ${call.reason}`)
  return call
}

describe('a settlement is told once', () => {
  it('although its reply is lost, and the one after it, and it is settled again', async () => {
    const { losing, limiter, heard } = await setUp('deny')
    const call = await mustReserve(limiter)
    losing.lose(['reply', 'reply'])
    await finish(settleWithRetry(() => call.settle(USED)))
    expect(await heard()).toEqual(heardBy(USED))
    for (const losses of [[], ['reply'], ['request'], ['reply', 'reply']] as Loss[][]) {
      losing.lose(losses)
      await finish(settleWithRetry(() => call.settle(USED)))
      await finish(settleWithRetry(() => call.cancel()))
    }
    expect(await heard()).toEqual(heardBy(USED))
  })

  it('although each attempt reads the reservation anew from its data', async () => {
    const { losing, limiter, heard } = await setUp('deny')
    const text = JSON.stringify(await mustReserve(limiter))
    for (const losses of [['reply'], ['reply', 'request'], []] as Loss[][]) {
      losing.lose(losses)
      await finish(settleWithRetry(() => reservation(limiter, text).settle(USED)))
      expect(await heard()).toEqual(heardBy(USED))
    }
  })

  it('as it was made, if it is cancelled because its reply was lost', async () => {
    const { losing, limiter, heard } = await setUp('deny')
    const call = await mustReserve(limiter)
    losing.lose(['reply'])
    await finish(call.settle(USED))
    expect(await call.cancel()).toMatchObject({ applied: false, returned: { usd: 33_000 } })
    expect(await heard()).toEqual(heardBy(USED))
  })

  it('as the cancellation that was made, if the settlement before it never arrived', async () => {
    const { losing, limiter, heard } = await setUp('deny')
    const call = await mustReserve(limiter)
    losing.lose(['request', 'reply'])
    await finish(call.settle(USED))
    await finish(call.cancel())
    await call.settle(USED)
    expect(await heard()).toEqual(heardBy(NONE))
  })

  it('if a proxy delivers it twice and answers with the second reply', async () => {
    const inner = memory()
    const store: typeof inner = {
      ...inner,
      async run(operation) {
        if (operation.kind.name === 'settle') await inner.run(operation)
        return inner.run(operation)
      },
    }
    const { limiter, heard } = await setUp('deny', store)
    await (await mustReserve(limiter)).settle(USED)
    expect(await heard()).toEqual(heardBy(USED))
  })

  it('by the process that made it, if another one has lost its own request', async () => {
    const store = memory()
    const here = await setUp('deny', store)
    const there = await setUp('deny', store)
    const text = JSON.stringify(await mustReserve(here.limiter))
    here.losing.lose(['request'])
    await finish(reservation(here.limiter, text).settle(USED))
    await reservation(there.limiter, text).settle({ usd: 5_000, token: 500 })
    await reservation(here.limiter, text).settle(USED)
    // Rows of both processes are in one store.
    await there.heard()
    expect((await here.heard()).rows).toEqual({ usd: 2 * 900 + 5_000, token: 2 * 30 + 500 })
  })
})

it.each<[string, Loss[], told: { usd: number; token: number }]>([
  ['before it settles', [], USED],
  ['after it has sent a settlement that never arrived', ['request'], USED],
  // Nobody is left who knows that it counts: rows have the estimate.
  ['after it has lost the reply to its settlement', ['reply'], COST],
])('a call whose process dies %s is told by the next one', async (_, losses, told) => {
  const store = memory()
  const dead = await setUp('deny', store)
  const text = JSON.stringify(await mustReserve(dead.limiter))
  await dead.heard()
  dead.losing.lose(losses)
  while (dead.losing.left.length > 0) {
    await finish(reservation(dead.limiter, text).settle(USED))
  }
  const next = await setUp('deny', store)
  await reservation(next.limiter, text).settle(USED)
  expect(await ledgerOf(next.limiter, 'acme')).toEqual({
    usd: 1_800 + USED.usd,
    token: 60 + USED.token,
  })
  expect((await next.heard()).rows).toEqual({ usd: 1_800 + told.usd, token: 60 + told.token })
})

it('a settlement without an answer for a minute is a problem, once its fate is not known', async () => {
  const { clock, losing, limiter, codes, heard } = await setUp('deny')
  const call = await mustReserve(limiter)
  losing.lose(['reply'])
  await finish(call.settle(USED))
  clock.advance(60_001)
  expect(await call.settle(USED)).toMatchObject({ applied: false, why: 'settled_before' })
  expect(codes()).toEqual(['reservation_lost'])
  // Listeners have the estimate: off by no more than the two differ.
  expect(await heard()).toEqual(heardBy(COST))
})

it('a reservation whose time is over is told to be abandoned once', async () => {
  const clock = manualClock(NOON)
  const losing = losingStore(memory())
  let abandoned = 0
  const listener = listen({ abandoned: () => void (abandoned += 1), problem: () => {} })
  const limiter = createLimiter({
    store: losing.store,
    clock,
    policies: MONEY,
    onStoreError: 'local',
    extensions: [listener],
  })
  for (const losses of [[], ['request'], ['request', 'request', 'request']] as Loss[][]) {
    losing.lose([losses[0]])
    const call = await mustReserve(limiter, { settleWithin: '1m' })
    abandoned = 0
    clock.advance(60_001)
    losing.lose(losses)
    await finish(settleWithRetry(() => call.settle(USED)))
    await finish(settleWithRetry(() => call.settle(USED)))
    expect(abandoned).toBe(1)
  }
})

describe('a cancellation by id', () => {
  it('is told once, although its reply is lost', async () => {
    const { losing, limiter, heard } = await setUp('deny')
    await mustReserve(limiter, { id: 'job1' })
    losing.lose(['reply'])
    await finish(settleWithRetry(() => cancelById(limiter, ACME, { id: 'job1', cost: COST })))
    expect(await heard()).toEqual(heardBy(NONE))
  })

  it('is not told for a charge that nobody has heard of', async () => {
    const { losing, limiter, heard, codes } = await setUp('deny')
    const works: Promise<unknown>[] = []
    const waitUntil = (work: Promise<unknown>): void => void works.push(work)
    losing.lose(['reply', 'request', 'request', 'request'])
    const denied = await reserve(limiter, ACME, { cost: COST, id: 'job2', waitUntil })
    expect(denied.allowed).toBe(false)
    await finish(Promise.all(works))
    expect(codes()).toContain('reservation_lost')
    expect(minusFirst(await ledgerOf(limiter, 'acme'))).toEqual(COST)
    await cancelById(limiter, ACME, { id: 'job2', cost: COST })
    expect(minusFirst(await ledgerOf(limiter, 'acme'))).toEqual(NONE)
    expect(await heard()).toEqual(heardBy(NONE))
  })
})

describe('a release of a reservation whose holder died', () => {
  const LATE = { settleWithin: '1m', unsettled: release() } as const

  it.each<[string, Loss[]]>([
    ['nothing', []],
    ['its reply', ['reply']],
    ['two replies', ['reply', 'reply']],
    ['a request and a reply', ['request', 'reply']],
  ])('is told once if it loses %s, and so is a settlement after it', async (_, losses) => {
    for (const settling of losses.length < 2 ? [[], ['reply'], ['request', 'reply']] : [[]]) {
      const { clock, losing, limiter, heard } = await setUp('deny')
      const text = JSON.stringify(await mustReserve(limiter, LATE))
      clock.advance(60_001)
      losing.lose(losses)
      await finish(sweepUnsettled(limiter, ACME))
      expect(minusFirst(await ledgerOf(limiter, 'acme'))).toEqual(NONE)
      expect((await heard()).rows).toEqual(heardBy(NONE).rows)
      losing.lose(settling as Loss[])
      await finish(settleWithRetry(() => reservation(limiter, text).settle(USED)))
      expect(minusFirst(await ledgerOf(limiter, 'acme'))).toEqual(USED)
      const { rows, metrics } = await heard()
      expect({ rows, metrics }).toMatchObject({
        rows: heardBy(USED).rows,
        metrics: heardBy(USED).metrics,
      })
    }
  })
})

it.each([[[]], [['reply']]] as Loss[][][])(
  'a release of a charge that nobody heard of is not told, and the settlement after it is: %j lost',
  async (losses) => {
    const { clock, losing, limiter, heard } = await setUp('allow')
    losing.lose(['reply'])
    const call = await mustReserve(limiter, { settleWithin: '1m', unsettled: release() })
    clock.advance(60_001)
    losing.lose(losses)
    await finish(sweepUnsettled(limiter, ACME))
    expect(minusFirst(await ledgerOf(limiter, 'acme'))).toEqual(NONE)
    expect((await heard()).rows).toEqual(heardBy(NONE).rows)
    await call.settle(USED)
    expect(minusFirst(await ledgerOf(limiter, 'acme'))).toEqual(USED)
    const { rows, metrics } = await heard()
    const expected = heardBy(USED)
    expect({ rows, metrics }).toEqual({ rows: expected.rows, metrics: expected.metrics })
  },
)

describe('a check, which nobody can settle,', () => {
  it.each(['deny', 'allow', 'local'] as const)(
    'is off by what it costs at most if its reply is lost, with %s',
    async (mode) => {
      for (const loss of ['request', 'reply'] as const) {
        const { losing, limiter, heard } = await setUp(mode)
        losing.lose([loss])
        await limiter.check(ACME, { cost: COST })
        const charged = minusFirst(await ledgerOf(limiter, 'acme'))
        const told = minusFirst((await heard()).rows)
        // In memory, this process counts it whether the store has it or not.
        expect(told).toEqual(mode === 'local' ? COST : NONE)
        expect(charged).toEqual(loss === 'reply' ? COST : NONE)
      }
    },
  )
})
