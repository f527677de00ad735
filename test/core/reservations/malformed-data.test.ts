import { createLimiter } from '@sluice/core'
import { reservation } from '@sluice/core/reservations'
import { upstash } from '@sluice/core/upstash'
import { describe, expect, it } from 'vitest'
import { POLICIES } from './support.ts'

describe('malformed data of a reservation', () => {
  const store = upstash({ url: 'http://127.0.0.1:9', token: 'none' })
  const limiter = createLimiter({ store, policies: POLICIES })
  const good = { id: 'a1', madeIn: 'store', settleBy: 0, charges: [] }
  const charge = { policy: 'daily', key: 'k', limit: 1, burst: 1, index: 0, units: 1 }
  it.each([
    undefined,
    null,
    7,
    'no JSON',
    '"text"',
    [],
    {},
    { ...good, id: 'a:b' },
    { ...good, id: 7 },
    { ...good, madeIn: 'heaven' },
    { ...good, charges: {} },
    { ...good, charges: [{ ...charge, units: -1 }] },
    { ...good, charges: [{ ...charge, index: 0.5 }] },
    { ...good, charges: [{ ...charge, key: 7 }] },
    { ...good, charges: [null] },
    { ...good, charges: [{ ...charge, units: 10 ** 15 }] },
    { ...good, origin: null },
    { ...good, origin: { subject: {}, at: 0 } },
    { ...good, origin: { subject: null, at: 0, limits: {} } },
    { ...good, origin: { subject: {}, at: 'now', limits: {} } },
    { ...good, origin: { subject: {}, at: 0, limits: {}, plan: 7 } },
  ])('%j is refused', (data) => {
    const act = () => reservation(limiter, data)
    expect(act).toThrow(expect.objectContaining({ code: 'invalid_reservation' }))
  })
  it('is refused before anything is sent, such as too many calls', async () => {
    const key = 'calls:slots-300000:tenant=acme'
    const charges = [{ ...charge, policy: 'calls', key, units: 9_000 }]
    await expect(reservation(limiter, { ...good, charges }).cancel()).rejects.toMatchObject({
      code: 'invalid_reservation',
    })
  })
  it.each([
    ['nothing', undefined],
    ['an unknown unit', { yen: 1 }],
    ['half a token', { token: 0.5 }],
    ['less than none', { token: -1 }],
    ['no number', { token: Number.NaN }],
  ])('%s is refused as a settlement', async (_name, actual) => {
    await expect(reservation(limiter, good).settle(actual as never)).rejects.toMatchObject({
      code: 'invalid_cost',
    })
  })
})
