import { fixedWindow, StoreError, type Limiter } from '@sluice/core'
import { configure, runtimeConfiguration } from '@sluice/core/configuration'
import { memory } from '@sluice/core/memory'
import { metricsText, prometheus } from '@sluice/otel/prometheus'
import { describe, expect, it } from 'vitest'
import { setUp } from '../support/limiters.ts'

const per = ['tenant']
const POLICIES = [
  fixedWindow({ name: 'rpm', limit: 100, window: '1m', per }),
  fixedWindow({ name: 'daily', limit: 100, window: '1d', per }),
  fixedWindow({ name: 'month', unit: 'token', limit: 1_000, window: '30d', per }),
  fixedWindow({ name: 'route', limit: 100, window: '1d', per: ['tenant', 'route'] }),
  fixedWindow({ name: 'everyone', limit: 10_000, window: '30d', per: 'global' }),
]

const setUpTop = (options: Parameters<typeof prometheus>[0], store = memory()) =>
  setUp(POLICIES, { store, extensions: [prometheus(options)] })

const use = (limiter: Limiter, tenant: string, request: number, token = 0) =>
  limiter.check({ tenant, route: 'chat' }, { cost: { request, token } })

/** The shares that the endpoint shows: `month acme 0.9`. */
async function shown(limiter: Limiter): Promise<string[]> {
  const lines = (await metricsText(limiter)).split('\n')
  return lines
    .filter((line) => line.startsWith('rate_limiter_budget_used_ratio{'))
    .map((line) => line.replace(/^.*tenant="(.*?)",.*policy="(.*?)"} (.*)$/, '$2 $1 $3'))
    .toSorted()
}

describe('the top budgets', () => {
  it('are those of the tenants that have used most, without a list, and each limit has its own', async () => {
    const { limiter } = setUpTop({ topBudgets: 2 })
    for (let tenant = 0; tenant < 50; tenant += 1)
      await use(limiter, `t${tenant}`, 1 + tenant, 500 - tenant)
    expect(await shown(limiter)).toEqual([
      'daily t48 0.49',
      'daily t49 0.5',
      'month t0 0.5',
      'month t1 0.499',
    ])
  })

  it('are not shown unless they are asked for, and then cost no command but at a scrape', async () => {
    let asked = 0
    const store = memory()
    const counting = {
      ...store,
      check: (request: Parameters<typeof store.check>[0]) => {
        asked += 1
        return store.check(request)
      },
    }
    const { limiter } = setUpTop({}, counting)
    await use(limiter, 'acme', 90)
    expect(await shown(limiter)).toEqual([])
    expect(asked).toBe(1)
    const { limiter: top } = setUpTop({ topBudgets: 1 }, counting)
    for (const tenant of ['acme', 'other']) await use(top, tenant, 1)
    expect(asked).toBe(3)
    await metricsText(top)
    expect(asked).toBe(4)
  })

  it('keep a tenant that is denied everything, and let it go when its window ends', async () => {
    const { limiter, clock } = setUpTop({ topBudgets: 1 })
    await use(limiter, 'spent', 100)
    for (let tenant = 0; tenant < 20; tenant += 1) await use(limiter, `t${tenant}`, 2)
    expect(await shown(limiter)).toContain('daily spent 1')
    clock.advance(86_400_000)
    expect(await shown(limiter)).toContain('daily spent 0')
    await use(limiter, 'later', 3)
    expect(await shown(limiter)).toContain('daily later 0.03')
    expect((await shown(limiter)).filter((line) => line.startsWith('daily'))).toHaveLength(1)
  })

  it('leave room for others once a tenant is stopped', async () => {
    const daily = fixedWindow({ name: 'daily', limit: 10, window: '1d', per })
    const extensions = [
      prometheus({ topBudgets: 1 }),
      runtimeConfiguration({ allow: { daily: ['limit'] } }),
    ]
    const { limiter } = setUp([daily], { extensions })
    await limiter.check({ tenant: 'burning' }, { cost: 9 })
    await limiter.check({ tenant: 'other' })
    expect(await shown(limiter)).toEqual(['daily burning 0.9'])
    await configure(limiter, { daily: { limit: 0 } }, { tenant: 'burning' })
    for (const tenant of ['burning', 'other']) await limiter.check({ tenant })
    expect(await shown(limiter)).toEqual([])
    await limiter.check({ tenant: 'other' })
    expect(await shown(limiter)).toEqual(['daily other 0.3'])
  })

  it('are those of all limiters of one name, and left out while the store fails', async () => {
    let isDown = false
    const store = memory()
    const failing = {
      ...store,
      check: (request: Parameters<typeof store.check>[0]) =>
        isDown ? Promise.reject(new StoreError('store_unreachable', 'down')) : store.check(request),
    }
    const options = { name: 'top-budgets', topBudgets: 1 }
    const [decides, shows] = [setUpTop(options, failing), setUpTop(options, failing)]
    await use(decides.limiter, 'acme', 90)
    expect(await shown(shows.limiter)).toContain('daily acme 0.9')
    isDown = true
    expect(await shown(shows.limiter)).toEqual([])
    isDown = false
    expect(await shown(shows.limiter)).toContain('daily acme 0.9')
  })
})
