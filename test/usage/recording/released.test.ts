import { dailyCap, listen } from '@sluice/core'
import { release, reservation, reserve, sweepUnsettled } from '@sluice/core/reservations'
import { flushUsage } from '@sluice/usage'
import { usage } from '@sluice/usage/report'
import { describe, expect, it } from 'vitest'
import { HOUR } from '../../support/times.ts'
import { storesOf, STORES_TO_TEST } from '../../support/stores.ts'
import { recording } from '../support.ts'

const HELD_ROW = { tenant: 'acme', route: 'chat', model: 'large' }
const HELD = { ...HELD_ROW, user: 'u1' }
/** A sweep names the partition, and may name things that are not those of the call. */
const SWEPT = { tenant: 'acme', user: 'u1', route: 'other', model: 'small' }
const UNKNOWN = { route: '(unknown)', model: '(unknown)', requests: 0 }

describe.each(STORES_TO_TEST)('a release in %s', (name) => {
  const makeStore = storesOf(name)

  it.each([
    [['tenant'], 'acme', SWEPT],
    [['tenant', 'user'], 'acme', SWEPT],
    [['tenant', 'route'], 'acme', { ...SWEPT, route: 'chat' }],
    // Nobody knows whose reservations these were.
    [['user'], '(unknown)', { ...SWEPT, tenant: 'globex' }],
    ['global', '(unknown)', { ...SWEPT, tenant: 'globex' }],
  ] as const)('of a policy per %j stands under %s', async (per, tenant, swept) => {
    const policies = [dailyCap({ name: 'cap', unit: 'usd', limit: 1_000_000, per })]
    const quiet = [listen({ problem: () => {} })]
    const { limiter, clock } = recording(policies, { store: makeStore(), extensions: quiet })
    const options = { cost: { usd: 300_000 }, unsettled: release() }
    const call = await reserve(limiter, HELD, options)
    clock.advance(2 * HOUR)
    expect(await sweepUnsettled(limiter, swept)).toBe(1)
    await flushUsage(limiter)
    const from = clock() - 2 * HOUR
    const before = await usage(limiter, { from })
    expect(before.rows).toMatchObject([
      { ...HELD_ROW, usd: 300_000, requests: 1 },
      { ...UNKNOWN, tenant, usd: -300_000 },
    ])
    const sumOf = ({ policies: rows }: typeof before) =>
      rows.reduce((all, { units }) => all + units, 0)
    expect(before.policies.map((row) => [row.tenant, row.units])).toEqual([
      ['acme', 300_000],
      [tenant, -300_000],
    ])

    clock.advance(HOUR)
    await reservation(limiter, JSON.stringify(call)).settle({ usd: 50_000 })
    const after = await usage(limiter, { from })
    const usdOf = (one: string) =>
      after.rows.reduce((all, row) => all + (row.tenant === one ? row.usd : 0), 0)
    expect([usdOf('acme'), usdOf(tenant) - (tenant === 'acme' ? 50_000 : 0), sumOf(after)]).toEqual(
      [50_000, 0, 50_000],
    )
  })
})
