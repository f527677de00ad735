import { concurrency, createLimiter, dailyCap, slidingWindow, type Store } from '@sluice/core'
import { cancelById, reservation, reserve } from '@sluice/core/reservations'
import { describe, expect, it } from 'vitest'
import { ACME } from '../../support/limiters.ts'
import { storesOf, STORES_TO_TEST } from '../../support/stores.ts'

const limiterOn = (store: Store) =>
  createLimiter({
    store,
    policies: [
      slidingWindow({ name: 'tpm', limit: 100, window: '1h', per: ['tenant'], unit: 'token' }),
      dailyCap({ name: 'daily', limit: 100, per: ['tenant'], unit: 'token' }),
      concurrency({ name: 'inFlight', limit: 5, per: ['tenant'] }),
    ],
  })

const remaining = async (limiter: ReturnType<typeof limiterOn>) => {
  const { policies } = await limiter.peek(ACME, { cost: { token: 0 } })
  return policies.map((policy) => policy.remaining)
}

describe.each(STORES_TO_TEST)('a reservation with an id, in %s', (name) => {
  const store = storesOf(name)
  it('is given back by who knows its id and its cost alone', async () => {
    const limiter = limiterOn(store())
    const cost = { token: 40 }
    const call = await reserve(limiter, ACME, { cost, id: 'job17claim1' })
    expect(call.allowed && call.toJSON().id).toBe('job17claim1')
    expect(await remaining(limiter)).toEqual([60, 60, 4])
    const other = await cancelById(limiter, ACME, { cost, id: 'job17claim2' })
    expect(other).toMatchObject({ applied: false, why: 'nothing_charged' })
    expect(await remaining(limiter)).toEqual([60, 60, 4])
    const given = await cancelById(limiter, ACME, { cost, id: 'job17claim1' })
    expect(given).toMatchObject({ applied: true, returned: { token: 40 } })
    expect(await remaining(limiter)).toEqual([100, 100, 5])
    const again = await cancelById(limiter, ACME, { cost, id: 'job17claim1' })
    expect(again).toMatchObject({ applied: false, why: 'settled_before' })
    expect(await remaining(limiter)).toEqual([100, 100, 5])
  })

  it('charges nothing after that, whoever settles it', async () => {
    const limiter = limiterOn(store())
    const call = await reserve(limiter, ACME, { cost: { token: 40 }, id: 'abc' })
    const data = call.allowed ? JSON.stringify(call) : ''
    await cancelById(limiter, ACME, { cost: { token: 40 }, id: 'abc' })
    expect(await reservation(limiter, data).settle({ token: 90 })).toMatchObject({
      applied: false,
      why: 'settled_before',
    })
    expect(await remaining(limiter)).toEqual([100, 100, 5])
  })

  it.each(['', 'A', 'a:b', 'a'.repeat(33), 7])('refuses the id %s', async (id) => {
    const limiter = limiterOn(store())
    const options = { cost: { token: 1 }, id: id as string }
    const refused = { code: 'invalid_reservation', input: 'id' }
    await expect(reserve(limiter, ACME, options)).rejects.toMatchObject(refused)
    await expect(cancelById(limiter, ACME, options)).rejects.toMatchObject(refused)
    expect(await remaining(limiter)).toEqual([100, 100, 5])
  })
})
