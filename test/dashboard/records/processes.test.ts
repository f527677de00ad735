import { budget, usd } from '@sluice/ai'
import { createLimiter, manualClock, slidingWindow, type Store } from '@sluice/core'
import { memory } from '@sluice/core/memory'
import { reservation, reserve, type ReservationData } from '@sluice/core/reservations'
import { createDashboard, dashboardHandler } from '@sluice/dashboard'
import { relay } from '@sluice/dashboard/relay'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { NOON } from '../support.ts'

const KEY = 'k'.repeat(32)
const target = () => ({ url: 'http://localhost/api/dashboard', key: KEY })
const ACME = { tenant: 'acme' }

/** Random numbers below `below`, the same in each run. */
function randomNumbers(seed: number) {
  let state = seed
  return (below: number): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

/** A network that keeps what is sent until `deliver`. A sending whose reply is lost arrives all the same. */
function slowNetwork(isReplyLost: () => boolean = () => false) {
  const clock = manualClock(NOON)
  const dashboard = createDashboard({ clock })
  const handler = dashboardHandler(dashboard, { authorize: () => true, relayKey: KEY })
  const sent: Request[] = []
  vi.stubGlobal('fetch', (url: string, init: RequestInit) => {
    sent.push(new Request(url, init))
    return isReplyLost()
      ? Promise.reject(new TypeError('reset'))
      : Promise.resolve(new Response(null, { status: 204 }))
  })
  return {
    clock,
    dashboard,
    sent,
    /** Delivers all that was sent, in the order of `order`. */
    deliver: async (order: (requests: Request[]) => Request[]) => {
      for (const request of order(sent.splice(0))) {
        expect((await handler(request)).status).toBe(204)
      }
    },
  }
}

function processOn(store: Store, clock: ReturnType<typeof manualClock>) {
  return createLimiter({
    store,
    clock,
    policies: [
      budget({ daily: usd(100), per: ['tenant'] }),
      slidingWindow({ name: 'tpm', unit: 'token', limit: 10 ** 9, window: '1m', per: ['tenant'] }),
    ],
    extensions: [relay({ name: 'ai', target })],
  })
}

const errors = vi.spyOn(console, 'error')
beforeEach(() => {
  vi.useFakeTimers()
  errors.mockImplementation(() => undefined)
})
afterEach(() => {
  vi.useRealTimers()
  vi.unstubAllGlobals()
  errors.mockReset()
})

describe('the figures of several processes', () => {
  it.each([1, 2, 3, 4, 5])(
    'are those of the store, whatever overtakes what, and however often it is sent (seed %i)',
    async (seed) => {
      const random = randomNumbers(seed)
      const { clock, dashboard, deliver } = slowNetwork(() => random(4) === 0)
      const store = memory()
      const processes = [0, 1, 2].map(() => processOn(store, clock))
      const any = <T>(list: readonly T[]): T => list[random(list.length)] as T
      const open: ReservationData[] = []
      let tokens = 0
      const endOne = async (): Promise<void> => {
        const [data] = open.splice(random(open.length), 1)
        const used = random(2_000)
        // Another process may settle it.
        if (data) await reservation(any(processes), data).settle({ token: used, usd: used * 10 })
        tokens += used
      }
      for (let step = 0; step < 300; step += 1) {
        if (random(2) === 0 && open.length > 0) await endOne()
        else {
          const cost = { token: 1_000, usd: 10_000 }
          const call = await reserve(any(processes), ACME, { cost })
          if (call.allowed) open.push(call.toJSON())
        }
        if (random(3) === 0) await vi.advanceTimersByTimeAsync(250)
      }
      while (open.length > 0) await endOne()
      // Records that were not taken are sent again with later ones.
      for (let round = 0; round < 20; round += 1) {
        for (const limiter of processes) await limiter.check(ACME, { cost: { token: 0, usd: 0 } })
        await vi.advanceTimersByTimeAsync(250)
      }
      await deliver((requests) =>
        requests.toSorted(() => random(3) - 1).flatMap((request) => [request, request.clone()]),
      )
      const { policies } = await any(processes).peek(ACME, { cost: { token: 0, usd: 0 } })
      const left = policies.find(({ unit }) => unit === 'usd')
      expect(dashboard.view()).toMatchObject({
        missing: 0,
        totals: { usedUsd: (left?.limit ?? 0) - (left?.remaining ?? 0), heldUsd: 0, tokens },
      })
    },
  )

  it('say how many events are missing, and count those that come late', async () => {
    const { clock, dashboard, sent, deliver } = slowNetwork()
    const limiter = processOn(memory(), clock)
    for (let index = 0; index < 3; index += 1) {
      await limiter.check(ACME, { cost: { token: 1, usd: 1 } })
      await vi.advanceTimersByTimeAsync(250)
    }
    let late: Request[] = []
    await deliver((requests) => {
      late = requests.splice(1, 1)
      return requests
    })
    expect(dashboard.view()).toMatchObject({ missing: 1, totals: { allowed: 2, usedUsd: 2 } })
    sent.push(...late)
    await deliver((requests) => requests)
    expect(dashboard.view()).toMatchObject({ missing: 0, totals: { allowed: 3, usedUsd: 3 } })
  })

  it('show what was spent without the store beside what the store has counted', async () => {
    const clock = manualClock(NOON)
    const dashboard = createDashboard({ clock })
    const works = memory()
    let isDown = false
    const store: Store = {
      ...works,
      check: (request) => (isDown ? Promise.reject(new Error('refused')) : works.check(request)),
    }
    const policies = [budget({ daily: usd(100), per: ['tenant'] })]
    const extensions = [dashboard.watch()]
    const limiter = createLimiter({ store, clock, policies, extensions, onStoreError: 'local' })
    const spend = () => limiter.check(ACME, { cost: { usd: 1_000_000 } })
    const counts = [2, 10, 3]
    for (const [index, count] of counts.entries()) {
      isDown = index === 1
      for (let call = 0; call < count; call += 1) await spend()
    }
    expect(dashboard.view().totals).toMatchObject({ usedUsd: 15_000_000, degraded: 10 })
    expect(dashboard.view().tenants[0]?.policies[0]).toMatchObject({ remaining: 95_000_000 })
  })

  it('hold no dollars of a call whose process has died, once its estimate is final', async () => {
    const clock = manualClock(NOON)
    const dashboard = createDashboard({ clock })
    const policies = [budget({ daily: usd(100), per: ['tenant'] })]
    const extensions = [dashboard.watch()]
    const limiter = createLimiter({ store: memory(), clock, policies, extensions })
    await reserve(limiter, ACME, { cost: { usd: 5_000 }, settleWithin: '2m' })
    expect(dashboard.view().totals).toMatchObject({ usedUsd: 5_000, heldUsd: 5_000 })
    clock.advance(10 * 60_000)
    expect(dashboard.view().totals).toMatchObject({ usedUsd: 5_000, heldUsd: 0 })
  })
})
