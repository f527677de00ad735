import {
  createLimiter,
  listen,
  logProblem,
  manualClock,
  slidingWindow,
  type Store,
} from '@sluice/core'
import { memory } from '@sluice/core/memory'
import { reserve } from '@sluice/core/reservations'
import { createDashboard } from '@sluice/dashboard'
import { describe, expect, it, vi } from 'vitest'
import { objectsInProcess } from '../../support/objects.ts'
import { NOON, setup } from '../support.ts'

const acme = { tenant: 'acme', route: 'ask' }

describe('the counts of a dashboard', () => {
  it('are the answers of the limiter, by tenant and second', async () => {
    const { clock, dashboard, limiter } = setup()
    const cost = { request: 1, call: 0, token: 10, usd: 100 }
    for (let index = 0; index < 7; index += 1) await limiter.check(acme, { cost })
    clock.advance(1_000)
    await limiter.check({ tenant: 'other', route: 'ask' }, { cost })
    const { totals, tenants, seconds, minutes } = dashboard.view()
    expect(totals).toMatchObject({ allowed: 6, denied: 2, tokens: 60, usedUsd: 600 })
    expect(tenants.map(({ tenant, allowed, denied }) => [tenant, allowed, denied])).toEqual([
      ['acme', 5, 2],
      ['other', 1, 0],
    ])
    expect(seconds.map(({ at, all }) => [at - NOON, all.allowed, all.denied, all.usedUsd])).toEqual(
      [
        [0, 5, 2, 500],
        [1_000, 1, 0, 600],
      ],
    )
    expect(minutes).toHaveLength(1)
    expect(minutes[0]?.tenants['acme']).toMatchObject({ allowed: 5, denied: 2, usedUsd: 500 })
  })

  it('name the place that has decided, if the store has several', async () => {
    const dashboard = createDashboard()
    const policies = [slidingWindow({ name: 'rpm', limit: 5, window: '1m', per: ['tenant'] })]
    const extensions = [dashboard.watch()]
    for (const store of [memory(), objectsInProcess().store()]) {
      const limiter = createLimiter({ store, policies, extensions })
      await limiter.check(acme)
    }
    expect(dashboard.view().tenants).toMatchObject([{ tenant: 'acme', place: 'tenant=acme' }])
  })

  it('show what is left as peek does, while calls run and after they are settled', async () => {
    const { dashboard, limiter } = setup()
    const left = async (): Promise<unknown> => {
      const { policies } = await limiter.peek(acme, { cost: { token: 0, usd: 0 } })
      const shown = dashboard.view().tenants[0]?.policies
      expect(shown?.map(({ name, remaining }) => [name, remaining])).toEqual(
        policies.map(({ name, remaining }) => [name, remaining]),
      )
      return shown?.find(({ unit }) => unit === 'usd')?.remaining
    }
    const cost = { request: 1, call: 1, token: 100, usd: 4_000 }
    const first = await reserve(limiter, acme, { cost })
    const second = await reserve(limiter, acme, { cost })
    expect(await left()).toBe(2_000)
    expect(dashboard.view().totals).toMatchObject({ heldUsd: 8_000, tokens: 200 })
    if (first.allowed) await first.settle({ token: 10, usd: 1_000 })
    expect(await left()).toBe(5_000)
    if (second.allowed) await second.settle({ token: 150, usd: 4_500 })
    expect(await left()).toBe(4_500)
    expect(dashboard.view().totals).toMatchObject({ heldUsd: 0, usedUsd: 5_500, tokens: 160 })
  })

  it('are right although a settlement and a later decision are told of in another order', async () => {
    const { dashboard, limiter } = setup()
    const { policies } = await limiter.check(acme, { cost: { token: 0, usd: 0 } })
    const budget = policies.find(({ unit }) => unit === 'usd')
    if (!budget) throw new Error('The limiter has a budget')
    const endsAt = NOON + budget.resetMs
    const decide = (remaining: number) =>
      dashboard.take({
        type: 'decision',
        limiter: 'chat',
        tenant: 'acme',
        allowed: true,
        at: NOON,
        policies: [
          { ...budget, cost: 4_000, charged: true, remaining, freshMs: budget.resetMs, endsAt },
        ],
        call: 'any',
        estimateUsd: 4_000,
      })
    const times = { at: NOON, settleBy: NOON + 60_000, isDegraded: false }
    const call = { type: 'reserved', limiter: 'chat', tenant: 'acme', usd: 4_000 } as const
    const reserved = { ...call, ...times }
    decide(6_000)
    dashboard.take({ ...reserved, id: 'first' })
    // The store has given 3,000 back before it decided this one.
    decide(5_000)
    dashboard.take({ ...reserved, id: 'second' })
    const returned = { usd: 3_000 }
    dashboard.take({ type: 'settled', id: 'first', tokens: 0, returned, overrun: {} })
    expect(dashboard.view().totals).toMatchObject({ usedUsd: 5_000, heldUsd: 4_000 })
  })

  it('count what a denied call would have cost once, however often it is retried', async () => {
    const { clock, dashboard, limiter } = setup()
    const ask = (call: string) => {
      const subject = { ...acme, call }
      return limiter.check(subject, { cost: { request: 5, call: 0, token: 1, usd: 1_000 } })
    }
    await ask('first')
    for (let retry = 0; retry < 5; retry += 1) await ask('second')
    await ask('third')
    expect(dashboard.view().totals).toMatchObject({ denied: 6, avoidedCalls: 2, avoidedUsd: 2_000 })
    clock.advance(60_000)
    expect(await ask('second')).toMatchObject({ allowed: true })
    expect(dashboard.view().totals).toMatchObject({ avoidedCalls: 1, avoidedUsd: 1_000 })
  })

  it('take equal calls without an id for retries of one', async () => {
    const { dashboard, limiter } = setup()
    const cost = { request: 5, call: 0, token: 1, usd: 1_000 }
    for (let call = 0; call < 4; call += 1) await limiter.check(acme, { cost })
    expect(dashboard.view().totals).toMatchObject({ denied: 3, avoidedCalls: 1, avoidedUsd: 1_000 })
  })

  it.each([-86_400_000, 0, 86_400_000])(
    'say that the store fails after a limiter with a clock of %i ms has decided',
    async (ms) => {
      const dashboard = createDashboard({ clock: manualClock(NOON) })
      const policies = [slidingWindow({ name: 'rpm', limit: 5, window: '1m', per: ['tenant'] })]
      const extensions = [dashboard.watch()]
      const check = async (store: Store, now: number): Promise<string> => {
        const clock = manualClock(now)
        await createLimiter({ store, policies, extensions, clock }).check(acme)
        return dashboard.view().store.state
      }
      const down: Store = { ...memory(), check: () => Promise.reject(new Error('refused')) }
      expect(await check(memory(), NOON + ms)).toBe('answering')
      expect(await check(down, NOON)).toBe('failing')
      expect(await check(memory(), NOON)).toBe('answering')
    },
  )

  it('say that the store fails, why, and that it answers again', async () => {
    const dashboard = createDashboard()
    const works = memory()
    let isDown = false
    const store: Store = {
      ...works,
      check: (request) => (isDown ? Promise.reject(new Error('refused')) : works.check(request)),
    }
    const policies = [slidingWindow({ name: 'rpm', limit: 5, window: '1m', per: ['tenant'] })]
    const limiter = createLimiter({ store, policies, extensions: [dashboard.watch()] })
    const states: unknown[] = [dashboard.view().store.state]
    for (const down of [false, true, false]) {
      isDown = down
      await limiter.check(acme)
      states.push(dashboard.view().store.state)
    }
    expect(states).toEqual(['unknown', 'answering', 'failing', 'answering'])
    const { totals, problems } = dashboard.view()
    expect(totals).toMatchObject({ allowed: 3, degraded: 1 })
    expect(problems).toMatchObject([
      { code: 'store_recovered', count: 1 },
      { code: 'store_failed', count: 1 },
    ])
  })

  it('leave problems in the log, in the words of a limiter that nobody listens to', async () => {
    const log = vi.spyOn(console, 'error').mockImplementation(() => {})
    const store: Store = { ...memory(), check: () => Promise.reject(new Error('refused')) }
    const policies = [slidingWindow({ name: 'rpm', limit: 5, window: '1m', per: ['tenant'] })]
    for (const extensions of [[], [listen({ problem: logProblem })], [createDashboard().watch()]]) {
      await createLimiter({ store, policies, extensions }).check(acme)
    }
    const [alone, ...others] = log.mock.calls
    log.mockRestore()
    expect(alone?.[0]).toMatch(/^Sluice: The store failed/)
    expect(others).toEqual([alone, alone])
  })

  it('forget one tenant, or everything', async () => {
    const { dashboard, limiter } = setup()
    const cost = { token: 1, usd: 1 }
    await limiter.check(acme, { cost })
    await limiter.check({ tenant: 'other', route: 'ask' }, { cost })
    dashboard.forget('acme')
    expect(dashboard.view()).toMatchObject({ totals: { allowed: 1, usedUsd: 1 } })
    const { seconds, minutes } = dashboard.view()
    for (const { all, tenants } of [...seconds, ...minutes]) {
      expect(Object.keys(tenants)).toEqual(['other'])
      expect(all.allowed).toBe(2)
    }
    dashboard.forget()
    expect(dashboard.view()).toMatchObject({ totals: { allowed: 0 }, tenants: [], seconds: [] })
  })

  it('are shared by dashboards of one name, and by no others', async () => {
    const [first, second, other] = ['shared', 'shared', 'other'].map((name) =>
      createDashboard({ name }),
    )
    const policies = [slidingWindow({ name: 'rpm', limit: 5, window: '1m', per: ['tenant'] })]
    for (const dashboard of [first, second]) {
      const extensions = dashboard ? [dashboard.watch()] : []
      await createLimiter({ store: memory(), policies, extensions }).check(acme)
    }
    const counts = [first, second, other, createDashboard()].map(
      (one) => one?.view().totals.allowed,
    )
    expect(counts).toEqual([2, 2, 0, 0])
    expect(() => createDashboard({ name: 'a name' })).toThrow('createDashboard.name')
  })

  it('stay within bounds: a list of 200 tenants, five minutes of seconds, and totals of all', () => {
    const { clock, dashboard } = setup()
    for (let index = 0; index < 5_000; index += 1) {
      clock.advance(100)
      dashboard.take({
        type: 'decision',
        limiter: 'chat',
        tenant: `t${index}`,
        at: NOON,
        allowed: true,
        policies: [],
        call: `${index}`,
        estimateUsd: 0,
      })
    }
    const { tenants, seconds, totals } = dashboard.view()
    expect(tenants.length).toBeGreaterThanOrEqual(150)
    expect(tenants.length).toBeLessThanOrEqual(200)
    expect(seconds.length).toBeLessThanOrEqual(300)
    expect(totals.allowed).toBe(5_000)
  })
})
