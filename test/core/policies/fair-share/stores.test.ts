import { slidingWindow, type Policy, type Store } from '@sluice/core'
import { breaker } from '@sluice/core/breaker'
import { cacheDenials } from '@sluice/core/cache-denials'
import { fairShare } from '@sluice/core/fair-share'
import { lease, leased } from '@sluice/core/leases'
import { memory } from '@sluice/core/memory'
import { describe, expect, it } from 'vitest'
import { storesOf, STORES_TO_TEST } from '../../../support/stores.ts'
import { Random } from '../../../world/random.ts'
import { answersOf, type Step } from './history.ts'

/** Shares between the users of a tenant, so that stores with a place for each tenant can count them. */
const shares = (): Policy =>
  fairShare(
    slidingWindow({ name: 'p', limit: 100, window: '1m', per: ['tenant'], unit: 'token' }),
    { between: ['user'], weight: ({ route }) => (route === 'r1' ? 3 : 1) },
  )

const CALLS = ['check', 'reserve', 'check', 'peek'] as const
const random = new Random('stores')
const STEPS = Array.from({ length: 150 }, (_, at): Step => ({
  ms: random.pick([0, 50, 700, 6_000, 20_000]),
  tenant: random.whole(0, 4),
  call: CALLS[at % 4] ?? 'check',
  cost: random.whole(0, 30),
  used: random.whole(0, 40),
  open: random.whole(0, 3),
}))

/** Returns for each answer whether a policy denies. */
const denials = (answers: readonly unknown[]): boolean[] =>
  answers.map((answer) => JSON.stringify(answer).includes('"fits":false'))

/** Stores around a store, which do not change what it decides. */
const WRAPPERS: Record<string, (store: Store) => Store> = {
  'as it is': (store) => store,
  'with a breaker': (store) => breaker(store),
}

describe.each(STORES_TO_TEST)('%s', (name) => {
  const make = storesOf(name)

  it.each(Object.entries(WRAPPERS))('divides a limit as memory does, %s', async (_, wrap) => {
    const expected = await answersOf(memory(), [shares()], STEPS, true)
    expect(JSON.stringify(expected)).toContain('"fits":false')
    expect(await answersOf(wrap(make()), [shares()], STEPS, true)).toEqual(expected)
  })
})

describe('a store in memory', () => {
  it('that keeps denials of another policy denies no less and no more', async () => {
    const rpm = slidingWindow({ name: 'rpm', limit: 6, window: '1m', per: ['tenant', 'user'] })
    const steps = STEPS.filter(({ call }) => call === 'check')
    const expected = await answersOf(memory(), [rpm, shares()], steps, true)
    const cached = await answersOf(cacheDenials(memory()), [rpm, shares()], steps, true)
    expect(denials(cached)).toEqual(denials(expected))
  })

  it('that leases another policy still shares', async () => {
    const rpm = lease(slidingWindow({ name: 'rpm', limit: 60, window: '10s', per: ['tenant'] }))
    const answers = await answersOf(
      leased(memory(), { fetchAhead: false }),
      [rpm, shares()],
      STEPS,
      true,
    )
    expect(JSON.stringify(answers)).toContain('"name":"p.share"')
    expect(answers).toHaveLength((await answersOf(memory(), [shares()], STEPS, true)).length)
  })
})
