import { StoreError, type Operation, type Store } from '@sluice/core'
import { adjust, balance, revoke, settleHold } from '@sluice/core/credits'
import { memory } from '@sluice/core/memory'
import { reserve } from '@sluice/core/reservations'
import { describe, expect, it } from 'vitest'
import { sharedRedis } from '../../support/running-redis.ts'
import { NOON } from '../../support/times.ts'
import { ACME, give, lawful, limiterOn, UNIT, type CreditLimiter } from './support.ts'

const redis = sharedRedis()

type Loss = 'request' | 'reply'

/** A store that loses the next change. Looks pass. */
function losingChanges(inner: Store) {
  let next: Loss | undefined
  async function pass<T>(call: () => Promise<T>): Promise<T> {
    const loss = next
    next = undefined
    if (loss === 'request') throw new StoreError('store_unreachable', 'lost')
    const result = await call()
    if (loss === 'reply') throw new StoreError('store_unreachable', 'lost')
    return result
  }
  const store: Store = {
    ...inner,
    check: (request) => (request.apply ? pass(() => inner.check(request)) : inner.check(request)),
    run: <Result>(operation: Operation<Result>) =>
      operation.kind.name === 'credits read'
        ? inner.run(operation)
        : pass(() => inner.run(operation)),
  }
  return { store, lose: (loss: Loss) => void (next = loss) }
}

/** Changes of a balance of 100 units. Each says what is left if it was made once. */
const CHANGES: Record<
  string,
  { readonly act: (limiter: CreditLimiter) => Promise<{ applied: boolean }>; readonly left: number }
> = {
  grant: { act: (limiter) => give(limiter, 30, 'more'), left: 130 },
  'correction up': {
    act: (limiter) => adjust(limiter, ACME, { amount: 5, id: 'a', at: NOON, reason: 'test' }),
    left: 105,
  },
  'correction into debt': {
    act: (limiter) => adjust(limiter, ACME, { amount: -130, id: 'a', at: NOON, reason: 'test' }),
    left: -30,
  },
  revocation: { act: (limiter) => revoke(limiter, ACME, 'g'), left: 0 },
  'revocation with a debt': {
    act: (limiter) => revoke(limiter, ACME, 'spent', { debt: true }),
    left: 50,
  },
}

const LOST = Object.entries(CHANGES).flatMap(([change, { act, left }]) =>
  (['request', 'reply'] as const).map((loss) => ({ change, loss, act, left })),
)

describe.each(['memory', 'redis'] as const)('a change whose answer is lost in %s', (name) => {
  const setUp = async () => {
    const { store, lose } = losingChanges(name === 'memory' ? memory() : redis.store())
    const limiter = limiterOn(store)
    await give(limiter, 50, 'spent')
    await limiter.check(ACME, { cost: { [UNIT]: 50 } })
    await give(limiter, 100, 'g')
    return { limiter, lose }
  }

  it.each(LOST)(
    'is safe to repeat: a $change, of which the $loss is lost',
    async ({ act, left, loss }) => {
      const { limiter, lose } = await setUp()
      lose(loss)
      await expect(act(limiter)).rejects.toMatchObject({ code: 'store_unreachable' })
      expect((await act(limiter)).applied).toBe(loss === 'request')
      expect((await act(limiter)).applied).toBe(false)
      expect((await lawful(limiter)).balance).toBe(left)
    },
  )

  it.each(['request', 'reply'] as const)(
    'is safe to repeat: a settlement, of which the %s is lost',
    async (loss) => {
      const { limiter, lose } = await setUp()
      const [one, two] = [
        await reserve(limiter, ACME, { cost: { [UNIT]: 20 } }),
        await reserve(limiter, ACME, { cost: { [UNIT]: 20 } }),
      ]
      if (!one.allowed || !two.allowed) throw new Error('they fit')
      const { id } = two.toJSON()
      for (const settle of [
        () => one.settle({ [UNIT]: 30 }),
        () => settleHold(limiter, ACME, id, 5),
      ]) {
        lose(loss)
        await expect(settle()).rejects.toMatchObject({ code: 'store_unreachable' })
        expect((await settle()).applied).toBe(loss === 'request')
        expect((await settle()).applied).toBe(false)
      }
      expect(await lawful(limiter)).toMatchObject({ balance: 65, held: 0, totals: { settled: 85 } })
    },
  )

  it.each(['request', 'reply'] as const)(
    'leaves no charge behind: a reservation that was denied because its %s was lost',
    async (loss) => {
      const { limiter, lose } = await setUp()
      lose(loss)
      const call = await reserve(limiter, ACME, { cost: { [UNIT]: 20 } })
      expect(call).toMatchObject({ allowed: false, reason: 'store_unavailable' })
      await expect.poll(async () => (await balance(limiter, ACME)).held).toBe(0)
      expect(await lawful(limiter)).toMatchObject({ balance: 100, totals: { settled: 50 } })
    },
  )
})
