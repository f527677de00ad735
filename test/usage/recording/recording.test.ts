import { describe, expect, it } from 'vitest'
import { listen, slidingWindow, StoreError } from '@sluice/core'
import { memory } from '@sluice/core/memory'
import { release, reservation, reserve, sweepUnsettled } from '@sluice/core/reservations'
import { flushUsage, type TenantForm, type UsageRow } from '@sluice/usage'
import { usage, usageCsv } from '@sluice/usage/report'
import { setUp } from '../../support/limiters.ts'
import { storesOf, STORES_TO_TEST } from '../../support/stores.ts'
import { NOON } from '../../support/times.ts'
import { recording } from '../support.ts'

const SUBJECT = { tenant: 'acme', route: 'evaluate', model: 'gpt-4o' }
/** A policy whose stripes have limits of their own. */
const STRIPED = [
  slidingWindow({ name: 'rpm', limit: 2, window: '1m', per: ['tenant'] }),
  slidingWindow({
    name: 'tpm',
    unit: 'token',
    limit: 10_000,
    window: '1d',
    per: ['tenant'],
    stripes: 2,
  }),
]
/** Noon without its half minute. */
const HOUR = NOON - 30_000
const ROW = { start: HOUR, ...SUBJECT, plan: '' }

/** Returns the tokens of each tenant. */
function tokensBy(rows: readonly UsageRow[]): Record<string, number> {
  const sums: Record<string, number> = {}
  for (const { tenant, tokens } of rows) sums[tenant] = (sums[tenant] ?? 0) + tokens
  return sums
}

describe.each(STORES_TO_TEST)('usage in %s', (name) => {
  const makeStore = storesOf(name)

  it('counts requests and tokens by tenant, route, model and outcome', async () => {
    const { limiter } = recording(undefined, { store: makeStore() })
    for (const token of [100, 200, 400, 800]) await limiter.check(SUBJECT, { cost: { token } })
    await limiter.check({ ...SUBJECT, tenant: 'globex' }, { cost: { token: 7 } })
    const { rows } = await usage(limiter)
    expect(rows).toEqual([
      { ...ROW, outcome: 'allowed', requests: 2, tokens: 300, usd: 0 },
      // The fourth is a retry of the third: what it would have used is counted once.
      { ...ROW, outcome: 'denied', requests: 2, tokens: 400, usd: 0 },
      { ...ROW, tenant: 'globex', outcome: 'allowed', requests: 1, tokens: 7, usd: 0 },
    ])
  })

  it('replaces the estimate of a reservation when it is settled, in the hour in which it was made', async () => {
    const { limiter, clock } = recording(undefined, { store: makeStore() })
    const call = await reserve(limiter, SUBJECT, { cost: { token: 2_000 }, settleWithin: '2h' })
    await usage(limiter)
    clock.advance(3_600_000)
    if (call.allowed) await call.settle({ token: 812 })
    const { rows, policies } = await usage(limiter)
    expect(rows).toEqual([{ ...ROW, outcome: 'allowed', requests: 1, tokens: 812, usd: 0 }])
    expect(policies.find(({ policy }) => policy === 'tpm')).toMatchObject({
      start: HOUR,
      requests: 1,
      units: 812,
    })
  })

  it('adds up what several processes have counted, by hour and by day', async () => {
    const store = makeStore()
    const [first, second] = [recording(undefined, { store }), recording(undefined, { store })]
    await first.limiter.check(SUBJECT, { cost: { token: 1 } })
    second.clock.advance(3_600_000)
    await second.limiter.check(SUBJECT, { cost: { token: 2 } })
    await usage(first.limiter)
    const byHour = await usage(second.limiter)
    expect(byHour.rows.map(({ start, tokens }) => [start - HOUR, tokens])).toEqual([
      [0, 1],
      [3_600_000, 2],
    ])
    const byDay = await usage(second.limiter, { by: 'day' })
    expect(byDay.rows).toEqual([
      { ...ROW, start: HOUR - 12 * 3_600_000, outcome: 'allowed', requests: 2, tokens: 3, usd: 0 },
    ])
  })

  it('counts one denied call for each wait, in all processes together', async () => {
    const store = makeStore()
    const { limiter, clock } = recording(undefined, { store })
    const other = recording(undefined, { store, clock })
    for (let call = 0; call < 4; call += 1) await limiter.check(SUBJECT, { cost: { token: 10 } })
    for (let call = 0; call < 3; call += 1)
      await other.limiter.check(SUBJECT, { cost: { token: 10 } })
    await usage(other.limiter)
    expect((await usage(limiter)).rows[1]).toMatchObject({
      outcome: 'denied',
      requests: 5,
      tokens: 10,
    })
    clock.advance(60_000)
    for (let call = 0; call < 4; call += 1) await limiter.check(SUBJECT, { cost: { token: 10 } })
    expect((await usage(limiter)).rows[1]).toMatchObject({
      outcome: 'denied',
      requests: 7,
      tokens: 20,
    })
  })

  it('counts by further dimensions, which a settlement keeps, and sums by tenant stay the same', async () => {
    const own = {
      store: makeStore(),
      usage: { tenants: 'plain', dimensions: ['team', 'key'] },
    } as const
    const { limiter } = recording(undefined, own)
    const call = await reserve(
      limiter,
      { ...SUBJECT, team: 'a=b', key: 'k1' },
      { cost: { token: 90 } },
    )
    await limiter.check({ ...SUBJECT, key: 'k2' }, { cost: { token: 5 } })
    await limiter.check({ ...SUBJECT, key: 'k2' }, { cost: { token: 9 } })
    if (call.allowed) await reservation(limiter, JSON.stringify(call)).settle({ token: 60 })
    const { rows, quarters } = await usage(limiter)
    expect(rows).toEqual([
      {
        ...ROW,
        dimensions: { team: '', key: 'k2' },
        outcome: 'allowed',
        requests: 1,
        tokens: 5,
        usd: 0,
      },
      {
        ...ROW,
        dimensions: { team: '', key: 'k2' },
        outcome: 'denied',
        requests: 1,
        tokens: 9,
        usd: 0,
      },
      {
        ...ROW,
        dimensions: { team: 'a=b', key: 'k1' },
        outcome: 'allowed',
        requests: 1,
        tokens: 60,
        usd: 0,
      },
    ])
    expect(quarters?.map(({ dimensions }) => dimensions?.['key'])).toEqual(['k2', 'k2', 'k1'])
    const [head, first] = usageCsv(rows).split('\r\n')
    expect(head).toMatch(/^start,tenant,.*,prevented_dollars,team,key$/)
    expect(first).toMatch(/0\.000000,,k2$/)
    // Read without them, rows and their sums are as before.
    const plain = await usage(recording(undefined, { ...own, usage: { tenants: 'plain' } }).limiter)
    expect(tokensBy(plain.rows)).toEqual({ acme: 74 })
    expect(plain.rows[0]).not.toHaveProperty('dimensions')
  })

  it('shares one cell among those above the bound, and says so', async () => {
    const store = makeStore()
    const problems: string[] = []
    const { limiter } = recording(undefined, {
      store,
      usage: { tenants: 'plain', maxCells: 3 },
      extensions: [listen({ problem: ({ code }) => void problems.push(code) })],
    })
    for (const tenant of ['a', 'b', 'c', 'd', 'e']) {
      await limiter.check({ ...SUBJECT, tenant }, { cost: { token: 5 } })
    }
    const { rows, policies } = await usage(limiter)
    expect(rows.map(({ tenant, requests, tokens }) => [tenant, requests, tokens])).toEqual([
      ['(other)', 4, 20],
      ['a', 1, 5],
    ])
    expect(policies.reduce((sum, { requests }) => sum + requests, 0)).toBe(10)
    expect(problems).toEqual(['usage_incomplete'])
  })
})

describe('a reservation that another process settles', () => {
  it('is corrected in its own row and policies, in the hour in which it was made', async () => {
    const store = memory()
    const { limiter, clock } = recording(STRIPED, { store })
    const other = recording(STRIPED, { store, clock })
    const call = await reserve(limiter, SUBJECT, { cost: { token: 2_000 }, settleWithin: '2h' })
    clock.advance(3_600_000)
    await reservation(other.limiter, JSON.stringify(call)).settle({ token: 812 })
    await flushUsage(limiter)
    const { rows, policies } = await usage(other.limiter)
    expect(rows).toEqual([{ ...ROW, outcome: 'allowed', requests: 1, tokens: 812, usd: 0 }])
    expect(policies).toMatchObject([
      { policy: 'rpm', start: HOUR, limit: 2, requests: 1, units: 1 },
      { policy: 'tpm', start: HOUR, limit: 10_000, requests: 1, units: 812 },
    ])
  })

  it('is corrected there, too, if it was released before, and the release is undone', async () => {
    const store = memory()
    const { limiter, clock } = recording(STRIPED, { store })
    const other = recording(STRIPED, { store, clock })
    const options = { cost: { token: 2_000 }, unsettled: release() }
    const call = await reserve(limiter, SUBJECT, options)
    const sums = async () => {
      const { rows, policies } = await usage(other.limiter, { from: HOUR })
      const units = policies.reduce((sum, row) => sum + (row.unit === 'token' ? row.units : 0), 0)
      return { tokens: tokensBy(rows), units }
    }
    await flushUsage(limiter)
    clock.advance(3_600_000)
    expect(await sweepUnsettled(other.limiter, SUBJECT)).toBe(1)
    expect(await sums()).toEqual({ tokens: { acme: 0 }, units: 0 })
    clock.advance(3_600_000)
    await reservation(other.limiter, JSON.stringify(call)).settle({ token: 812 })
    expect(await sums()).toEqual({ tokens: { acme: 812 }, units: 812 })
  })

  it.each<TenantForm>(['plain', 'hashed', { secret: 'salt' }])(
    'has no tenant if nobody listened when it was made, with ids %j',
    async (tenants) => {
      const store = memory()
      const { limiter } = setUp(STRIPED, { store })
      const other = recording(STRIPED, { store, usage: { tenants } })
      const call = await reserve(limiter, SUBJECT, { cost: { token: 2_000 } })
      await reservation(other.limiter, JSON.stringify(call)).settle({ token: 812 })
      const { rows } = await usage(other.limiter)
      expect(rows.map(({ tenant, requests, tokens }) => [tenant, requests, tokens])).toEqual([
        ['(unknown)', 0, -1_188],
      ])
    },
  )
})

it('peeks are not counted', async () => {
  const { limiter } = recording()
  await limiter.peek(SUBJECT, { cost: { token: 1 } })
  expect((await usage(limiter)).rows).toEqual([])
})

const down = () => Promise.reject(new StoreError('store_unreachable', 'down'))

it('degraded decisions are counted by what they decided', async () => {
  const store = memory()
  const { limiter } = recording(undefined, {
    store: {
      ...store,
      check: (request) => (request.entries.length > 0 ? down() : store.check(request)),
    },
    onStoreError: 'deny',
    extensions: [listen({ problem: () => {} })],
  })
  await limiter.check(SUBJECT, { cost: { token: 1 } })
  const { rows } = await usage(limiter)
  expect(rows).toMatchObject([{ outcome: 'unavailable', requests: 1, tokens: 0 }])
})
