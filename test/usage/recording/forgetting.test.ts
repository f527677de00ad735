import { memory } from '@sluice/core/memory'
import { reservation, reserve } from '@sluice/core/reservations'
import { flushUsage, forgetUsage, type TenantForm } from '@sluice/usage'
import { usage, type Usage } from '@sluice/usage/report'
import { describe, expect, it } from 'vitest'
import { setUp } from '../../support/limiters.ts'
import { storesOf, STORES_TO_TEST } from '../../support/stores.ts'
import { recording, TWO_RPM } from '../support.ts'

const cost = { token: 10 }
const HOUR_MS = 3_600_000
const DAY_MS = 86_400_000

const tenantsIn = ({ rows, policies }: Usage): string[] =>
  [...new Set([...rows, ...policies].map(({ tenant }) => tenant))].toSorted()

describe.each(STORES_TO_TEST)('forgetUsage in %s', (name) => {
  const makeStore = storesOf(name)

  it.each<TenantForm>(['plain', 'hashed', { secret: 'salt' }])(
    'removes the cells of these tenants and of nobody else, with ids %j',
    async (tenants) => {
      const { limiter, clock } = recording(undefined, { store: makeStore(), usage: { tenants } })
      const ids = ['acme', 'acme-2', 'ac', 'globex']
      for (let day = 0; day < 2; day += 1) {
        // The third one of each is denied.
        for (const tenant of ids) {
          for (let call = 0; call < 3; call += 1) await limiter.check({ tenant }, { cost })
        }
        await flushUsage(limiter)
        clock.advance(DAY_MS)
      }
      await forgetUsage(limiter, ['acme', 'globex'])
      for (const by of ['hour', 'day'] as const) {
        const from = clock() - 3 * DAY_MS
        const others = await usage(limiter, { from, by, tenants: ids })
        expect(tenantsIn(others)).toEqual(['ac', 'acme-2'])
        expect(tenantsIn(await usage(limiter, { from, by }))).toHaveLength(2)
      }
    },
  )

  it('removes what this process has not saved yet', async () => {
    const { limiter } = recording(undefined, { store: makeStore() })
    await limiter.check({ tenant: 'acme' }, { cost })
    await forgetUsage(limiter, ['acme'])
    expect(await usage(limiter)).toMatchObject({ rows: [], policies: [] })
  })

  it('removes thousands of cells', async () => {
    const { limiter } = recording(undefined, { store: makeStore() })
    for (let route = 0; route < 1_500; route += 1) {
      await limiter.check({ tenant: 'acme', route: `r${route}` }, { cost })
      if (route % 400 === 0) await flushUsage(limiter)
    }
    await flushUsage(limiter)
    await limiter.check({ tenant: 'globex' }, { cost })
    await forgetUsage(limiter, ['acme'])
    expect(tenantsIn(await usage(limiter))).toEqual(['globex'])
  })
})

it('is gone from hours and days that were saved late', async () => {
  const store = memory()
  const kept = { tenants: 'plain', keepHours: '3h', keepDays: '3d' } as const
  const { limiter, clock } = recording(undefined, { store, usage: kept })
  await limiter.check({ tenant: 'acme' }, { cost })
  clock.advance(2.5 * HOUR_MS)
  await flushUsage(limiter)
  clock.advance(2.5 * HOUR_MS)
  await forgetUsage(limiter, ['acme'])
  for (const by of ['hour', 'day'] as const) {
    expect(await usage(limiter, { by })).toMatchObject({ rows: [], policies: [] })
  }
})

it('has no row of a call that was running, and another process settles', async () => {
  const store = memory()
  const { limiter, clock } = recording(undefined, { store })
  const other = recording(undefined, { store, clock })
  const call = await reserve(limiter, { tenant: 'acme' }, { cost: { token: 100 } })
  await forgetUsage(limiter, ['acme'])
  await reservation(other.limiter, JSON.stringify(call)).settle({ token: 60 })
  expect(await usage(other.limiter)).toMatchObject({ rows: [], policies: [] })
  await limiter.check({ tenant: 'acme' }, { cost })
  expect((await usage(limiter)).rows).toMatchObject([{ tenant: 'acme', requests: 1 }])
})

it('is gone from an hour that has begun by the clock of another process', async () => {
  const store = memory()
  const { limiter, clock } = recording(undefined, { store })
  clock.advance(HOUR_MS)
  await limiter.check({ tenant: 'acme' }, { cost })
  await flushUsage(limiter)
  await forgetUsage(recording(undefined, { store }).limiter, ['acme'])
  expect(await usage(limiter)).toMatchObject({ rows: [], policies: [] })
})

it('a tenant with a long id is found and forgotten by it', async () => {
  const ids = ['a', 'b'].map((end) => 'x'.repeat(120) + end)
  const { limiter } = recording(undefined, { usage: { tenants: 'hashed' } })
  for (const tenant of ids) await limiter.check({ tenant }, { cost })
  expect(tenantsIn(await usage(limiter, { tenants: ids }))).toEqual(ids)
  await forgetUsage(limiter, ids.slice(0, 1))
  expect(tenantsIn(await usage(limiter, { tenants: ids }))).toEqual(ids.slice(1))
})

it('refuses what is not a list of ids, and a limiter that records nothing', async () => {
  const { limiter } = recording()
  for (const tenants of [[], [''], 'acme', [7]]) {
    await expect(forgetUsage(limiter, tenants as string[])).rejects.toThrow('forgetUsage.tenants')
  }
  const { limiter: without } = setUp(TWO_RPM)
  await expect(forgetUsage(without, ['acme'])).rejects.toThrow('must have recordUsage(…)')
})
