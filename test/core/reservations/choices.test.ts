import {
  createLimiter,
  dailyCap,
  listen,
  slidingWindow,
  StoreError,
  type Store,
} from '@sluice/core'
import { cacheDenials } from '@sluice/core/cache-denials'
import { choices } from '@sluice/core/choices'
import { memory } from '@sluice/core/memory'
import { cancelById, fitRange, reserve } from '@sluice/core/reservations'
import { describe, expect, it } from 'vitest'
import { ACME } from '../../support/limiters.ts'
import { storesOf, STORES_TO_TEST } from '../../support/stores.ts'

const limiterOn = (store: Store) =>
  createLimiter({
    store,
    policies: [
      dailyCap({ name: 'daily', limit: 100, per: ['tenant'], unit: 'token' }),
      slidingWindow({ name: 'rpm', limit: 2, window: '1h', per: ['tenant', 'model'] }),
    ],
  })

const ladder = choices([
  { subject: { model: 'large' }, cost: { token: 40 } },
  { subject: { model: 'small' }, cost: { token: 10 } },
])

const ranges = choices([
  {
    subject: { model: 'large' },
    fit: fitRange({ floor: 101, most: 200, rates: { token: 1_000_000 } }),
  },
  {
    subject: { model: 'small' },
    fit: fitRange({ floor: 10, most: 200, rates: { token: 1_000_000 } }),
  },
])

describe.each(STORES_TO_TEST)('choices in %s', (name) => {
  const store = storesOf(name)

  it('charge the first that fits, it alone, and a denial is about the one that fits soonest', async () => {
    const limiter = limiterOn(store())
    const chosen = []
    for (let call = 0; call < 5; call += 1) {
      const { allowed, choice, tried, policies } = await limiter.check(ACME, { choices: ladder })
      chosen.push([allowed, choice, tried?.map((one) => one.allowed), policies[0]?.remaining])
    }
    expect(chosen).toEqual([
      [true, 0, [true], 60],
      [true, 0, [true], 20],
      [true, 1, [false, true], 10],
      [true, 1, [false, true], 0],
      [false, 0, [false, false], 0],
    ])
    const rpm = await Promise.all(
      ['large', 'small'].map((model) => limiter.peek({ ...ACME, model }, { cost: { token: 0 } })),
    )
    expect(rpm.map(({ policies }) => policies[1]?.remaining)).toEqual([0, 0])
  })

  it('grant the most of the first whose floor fits, and are given back by their id', async () => {
    const limiter = limiterOn(store())
    const look = await limiter.peek(ACME, { choices: ranges })
    expect(look).toMatchObject({ choice: 1, granted: 100 })
    const call = await reserve(limiter, ACME, { choices: ranges, id: 'job1' })
    expect(call).toMatchObject({ allowed: true, choice: 1, granted: 100 })
    const given = await cancelById(limiter, ACME, { id: 'job1', choices: ranges })
    expect(given).toMatchObject({ applied: true, returned: { token: 100, request: 1 } })
    const { policies } = await limiter.peek({ ...ACME, model: 'small' }, { cost: { token: 0 } })
    expect(policies.map(({ remaining }) => remaining)).toEqual([100, 2])
  })
})

describe('choices that are asked for one after the other', () => {
  it('are no fault if one fits, and a look at the next has failed', async () => {
    const inMemory = memory()
    let asked = 0
    const store: Store = {
      ...inMemory,
      async check(request) {
        asked += 1
        if (asked > 1) throw new StoreError('store_unreachable', 'gone')
        return inMemory.check(request)
      },
    }
    const onProblem = listen({ problem: () => {} })
    const policies = [dailyCap({ name: 'daily', limit: 1, per: ['tenant'] })]
    const limiter = createLimiter({ store, policies, extensions: [onProblem] })
    const models = choices([{ subject: { model: 'a' } }, { subject: { model: 'b' } }])
    const look = await limiter.peek(ACME, { choices: models })
    expect([look.allowed, look.choice, look.degraded, asked]).toEqual([true, 0, undefined, 2])
  })
})

it('all known to be denied are denied again without a call, and without a problem', async () => {
  const problems: unknown[] = []
  const limiter = createLimiter({
    store: cacheDenials(memory()),
    policies: [slidingWindow({ name: 'rpm', limit: 1, window: '1h', per: ['tenant', 'model'] })],
    extensions: [listen({ problem: (problem) => void problems.push(problem) })],
  })
  const models = choices([{ subject: { model: 'a' } }, { subject: { model: 'b' } }])
  const answers = []
  for (let call = 0; call < 4; call += 1) {
    const { allowed, choice, source } = await limiter.check(ACME, { choices: models })
    answers.push([allowed, choice, source])
  }
  expect(answers).toEqual([
    [true, 0, 'memory'],
    [true, 1, 'memory'],
    // The first is known to be denied, and the store is asked for both.
    [false, 0, 'memory'],
    [false, 0, 'cache'],
  ])
  expect(problems).toEqual([])
})

describe('choices are refused', () => {
  const limiter = limiterOn({ check: never, run: never, reset: never })
  const one = { subject: { model: 'a' }, cost: { token: 1 } }

  it.each([
    ['a list alone', () => limiter.check(ACME, { choices: [one] as never })],
    ['null', () => reserve(limiter, ACME, { choices: null as never })],
    ['an empty list', () => choices([])],
    ['more than 64', () => choices(Array.from({ length: 65 }, () => one))],
    ['a field that is unknown', () => choices([{ ...one, price: 1 } as never])],
    ['other dimensions', () => choices([one, { subject: { route: 'b' }, cost: { token: 1 } }])],
    ['an empty value', () => choices([{ subject: { model: '' } }])],
    ['a fit for some', () => choices([one, { subject: { model: 'b' }, fit: FIT }] as never)],
    ['a cost beside them', () => limiter.check(ACME, { choices: ladder, cost: { token: 1 } })],
    ['a fit beside them', () => reserve(limiter, ACME, { choices: ladder, fit: FIT })],
    ['a dimension that nobody counts by', () => limiter.check(ACME, { choices: TYPO })],
  ])('%s', async (_, call) => {
    const made = async (): Promise<unknown> => call()
    await expect(made()).rejects.toMatchObject({ code: 'invalid_choices' })
  })

  it('with more than 256 policies in all', async () => {
    const policies = Array.from({ length: 5 }, (__, at) =>
      slidingWindow({ name: `p${at}`, limit: 2, window: '1h', per: ['tenant', 'model'] }),
    )
    const many = createLimiter({ store: { check: never, run: never, reset: never }, policies })
    const list = Array.from({ length: 52 }, (__, at) => ({ subject: { model: `m${at}` } }))
    await expect(many.check(ACME, { choices: choices(list) })).rejects.toThrow('but have 260')
  })

  it('that no policy counts', async () => {
    const routed = createLimiter({
      store: { check: never, run: never, reset: never },
      policies: [
        slidingWindow({ name: 'a', limit: 2, window: '1h', per: ['tenant'], routes: ['x'] }),
      ],
    })
    const list = choices([{ subject: { route: 'x' } }, { subject: { route: 'y' } }])
    await expect(routed.check(ACME, { choices: list })).rejects.toThrow(
      '[1] is counted by no policy',
    )
  })
})

const FIT = fitRange({ floor: 1, most: 2, rates: { token: 1_000_000 } })
const TYPO = choices([{ subject: { modle: 'a' }, cost: { token: 1 } }])

function never(): never {
  throw new Error('The store must not be asked')
}
