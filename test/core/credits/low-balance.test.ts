import { createLimiter, manualClock, slidingWindow, type Limiter, type Store } from '@sluice/core'
import { credits, grant, lowBalance, type LowBalance } from '@sluice/core/credits'
import { memory } from '@sluice/core/memory'
import { reserve } from '@sluice/core/reservations'
import { describe, expect, it, vi } from 'vitest'
import { NOON } from '../../support/times.ts'

const acme = { tenant: 'acme' }
const topUpUrl = 'https://app.example.com/credits'
const policy = credits({
  name: 'credits',
  per: ['tenant'],
  unsettled: 'keep',
  unit: 'request',
  topUpUrl,
})

function process(store: Store = memory()) {
  const told: LowBalance[] = []
  const tell = vi.fn<(low: LowBalance) => void>((low) => void told.push(low))
  const limiter = createLimiter({
    store,
    clock: manualClock(NOON),
    onStoreError: 'deny',
    policies: [policy],
    extensions: [lowBalance({ below: 100, tell })],
  })
  return { limiter, tell, lefts: () => told.map(({ left }) => left) }
}

let grants = 0
const pay = (limiter: Limiter, amount: number, subject = acme) =>
  grant(limiter as never, subject as never, {
    amount,
    id: `grant-${(grants += 1)}`,
    at: NOON,
    kind: 'paid',
  })

describe('lowBalance', () => {
  it('is told once when a balance falls below its amount', async () => {
    const { limiter, tell, lefts } = process()
    await pay(limiter, 130)
    for (let call = 0; call < 5; call += 1) await limiter.check(acme, { cost: 20 })
    expect(lefts()).toEqual([90])
    expect(tell).toHaveBeenCalledWith({
      subject: acme,
      policy: 'credits',
      unit: 'request',
      left: 90,
      below: 100,
      topUpUrl,
    })
  })

  it('is told again after a grant, but not where an estimate comes back', async () => {
    const { limiter, lefts } = process()
    await pay(limiter, 103)
    for (let call = 0; call < 3; call += 1) {
      const reserved = await reserve(limiter, acme, { cost: 5 })
      if (reserved.allowed) await reserved.settle(0)
    }
    expect(lefts()).toEqual([98])
    await pay(limiter, 50)
    await limiter.check(acme, { cost: 60 })
    expect(lefts()).toEqual([98, 93])
  })

  it('is told of a settlement above its estimate', async () => {
    const { limiter, lefts } = process()
    await pay(limiter, 120)
    const reserved = await reserve(limiter, acme, { cost: 5 })
    if (reserved.allowed) await reserved.settle(200)
    expect(lefts()).toEqual([0])
  })

  it('keeps balances apart, and says nothing of one that was low before', async () => {
    const { limiter, lefts } = process()
    const other = { tenant: 'other' }
    await pay(limiter, 150)
    await pay(limiter, 40, other)
    await limiter.check(other, { cost: 1 })
    await limiter.check(other, { cost: 90 })
    expect(lefts()).toEqual([])
    await limiter.check(acme, { cost: 60 })
    expect(lefts()).toEqual([90])
  })

  it('is told in each process that has seen it above', async () => {
    const store = memory()
    const [one, other, late] = [process(store), process(store), process(store)]
    await pay(one.limiter, 150)
    await one.limiter.check(acme, { cost: 1 })
    await other.limiter.check(acme, { cost: 1 })
    await one.limiter.check(acme, { cost: 60 })
    // The denial of another process shows it.
    await other.limiter.check(acme, { cost: 500 })
    await late.limiter.check(acme, { cost: 1 })
    expect([one, other, late].map(({ lefts }) => lefts())).toEqual([[88], [88], []])
  })

  it('makes no call to the store', async () => {
    const store = memory()
    const calls = vi.spyOn(store, 'check')
    const runs = vi.spyOn(store, 'run')
    const { limiter } = process(store)
    await pay(limiter, 120)
    const before = runs.mock.calls.length
    await limiter.check(acme, { cost: 50 })
    expect([calls.mock.calls.length, runs.mock.calls.length - before]).toEqual([1, 0])
  })

  it.each([
    ['no amount', { below: 0 }, /lowBalance\.below: must be a whole number of units, at least 1/],
    ['half a unit', { below: 0.5 }, /lowBalance\.below/],
    ['no function', { tell: undefined as never }, /lowBalance\.tell: must be a function/],
    ['another option', { above: 1 }, /lowBalance\.above: unknown option/],
    [
      'a policy that is none of credits',
      { policy: 'rpm' },
      /lowBalance\.policy: must name a policy/,
    ],
  ])('refuses %s', (_, change, message) => {
    const rpm = slidingWindow({ name: 'rpm', limit: 9, window: '1m', per: ['tenant'] })
    expect(() =>
      createLimiter({
        store: memory(),
        onStoreError: 'deny',
        policies: [policy, rpm],
        extensions: [lowBalance({ below: 1, tell: () => undefined, ...change })],
      }),
    ).toThrow(message)
  })
})
