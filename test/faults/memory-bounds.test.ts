import { createLimiter, dailyCap, slidingWindow, type Limiter } from '@sluice/core'
import { memory } from '@sluice/core/memory'
import { describe, expect, it } from 'vitest'
import { setUp } from '../support/limiters.ts'

const MAX_KEYS = 1_000
const FLOOD = 200_000

function limiterOf(maxKeys?: number): Limiter {
  return setUp([slidingWindow({ name: 'p', limit: 2, window: '1h', per: ['tenant'] })], {
    store: memory(maxKeys === undefined ? {} : { maxKeys }),
  }).limiter
}

/** Returns true if the store still holds the charge of the tenant. */
async function isHeld(limiter: Limiter, tenant: string): Promise<boolean> {
  const { policies } = await limiter.peek({ tenant })
  return policies[0]?.remaining !== 2
}

async function heldOf(limiter: Limiter, names: readonly string[]): Promise<number> {
  let count = 0
  for (const name of names) if (await isHeld(limiter, name)) count += 1
  return count
}

const names = Array.from({ length: FLOOD }, (_, index) => `t${index}`)

describe('a memory store bounded to 1,000 partitions', () => {
  it('keeps the last 1,000 charged of 200,000, and no other', async () => {
    const limiter = limiterOf(MAX_KEYS)
    for (const tenant of names) await limiter.check({ tenant })
    expect(await heldOf(limiter, names)).toBe(MAX_KEYS)
    expect(await heldOf(limiter, names.slice(-MAX_KEYS))).toBe(MAX_KEYS)
  })

  it('keeps a tenant that is charged now and then through a flood of others', async () => {
    const { limiter } = setUp(
      [slidingWindow({ name: 'p', limit: 1_000, window: '1h', per: ['tenant'] })],
      { store: memory({ maxKeys: MAX_KEYS }) },
    )
    for (const [index, tenant] of names.entries()) {
      await limiter.check({ tenant })
      if (index % (MAX_KEYS / 2) === 0) await limiter.check({ tenant: 'regular' })
    }
    const { policies } = await limiter.peek({ tenant: 'regular' })
    expect(policies[0]?.remaining).toBe(1_000 - (2 * FLOOD) / MAX_KEYS)
  })

  it('is not changed by 200,000 denied and peeked ids', async () => {
    const limiter = limiterOf(MAX_KEYS)
    const kept = names.slice(0, MAX_KEYS)
    for (const tenant of kept) await limiter.check({ tenant })
    for (const tenant of names) {
      await limiter.check({ tenant: `denied-${tenant}` }, { cost: 3 })
      await limiter.peek({ tenant: `peeked-${tenant}` })
      await limiter.check({ tenant: `free-${tenant}` }, { cost: 0 })
    }
    expect(await heldOf(limiter, kept)).toBe(MAX_KEYS)
  })

  it('counts partitions, not requests, policy by policy', async () => {
    const per = ['tenant']
    const limiter = createLimiter({
      store: memory({ maxKeys: 4 }),
      policies: [
        dailyCap({ name: 'daily', limit: 9, per }),
        slidingWindow({ name: 'p', limit: 9, window: '1h', per }),
      ],
    })
    for (const tenant of ['a', 'b', 'b', 'b']) await limiter.check({ tenant })
    expect((await limiter.peek({ tenant: 'a' })).policies.map((p) => p.remaining)).toEqual([8, 8])
    await limiter.check({ tenant: 'c' })
    expect((await limiter.peek({ tenant: 'a' })).policies.map((p) => p.remaining)).toEqual([9, 9])
    expect((await limiter.peek({ tenant: 'b' })).policies.map((p) => p.remaining)).toEqual([6, 6])
  })
})

it('a memory store bounded to fewer partitions than there are policies still counts in each', async () => {
  const limiter = createLimiter({
    store: memory({ maxKeys: 1 }),
    policies: [1, 2, 3].map((limit) =>
      slidingWindow({ name: `p${limit}`, limit, window: '1h', per: ['tenant'] }),
    ),
  })
  expect(await limiter.check({ tenant: 'a' })).toMatchObject({ allowed: true })
  expect(await limiter.check({ tenant: 'a' })).toMatchObject({ violated: { name: 'p1' } })
})

it('without an option a memory store keeps 10,000 partitions', async () => {
  const limiter = limiterOf()
  const some = names.slice(0, 10_500)
  for (const tenant of some) await limiter.check({ tenant })
  expect(await heldOf(limiter, some)).toBe(10_000)
})
