import { createLimiter, fixedWindow, slidingWindow, StoreError, type Policy } from '@sluice/core'
import { memory } from '@sluice/core/memory'
import { metricsHandler, metricsText, prometheus } from '@sluice/otel/prometheus'
import { describe, expect, it } from 'vitest'
import { ACME, setUp, type SetUpOptions } from '../support/limiters.ts'

const rpm = fixedWindow({ name: 'rpm', limit: 2, window: '1m', per: ['tenant'] })

const setUpPrometheus = (
  options?: Parameters<typeof prometheus>[0],
  policies: readonly Policy[] = [rpm],
  limiter: SetUpOptions = {},
) => setUp(policies, { ...limiter, extensions: [prometheus(options)] })

/** The lines of one metric, without those that explain it. */
const linesOf = (text: string, name: string): string[] =>
  text.split('\n').filter((line) => line.startsWith(name))

describe('the endpoint', () => {
  it('answers in the text format, which ends with a line feed', async () => {
    const { limiter } = setUpPrometheus()
    await limiter.check({ ...ACME, route: 'chat' })
    const response = await metricsHandler(limiter)()
    expect(response.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8')
    const text = await response.text()
    expect(text).toContain(`# TYPE rate_limiter_decisions_total counter
rate_limiter_decisions_total{rate_limiter_route="chat",rate_limiter_outcome="allowed"} 1
`)
    expect(text).toMatch(/[^\n]\n$/)
  })

  it('counts decisions by what denied them, and gives no tenant that is not listed', async () => {
    const { limiter } = setUpPrometheus({ tenants: ['acme'] })
    for (const tenant of ['acme', 'secret', 'acme', 'acme']) await limiter.check({ tenant })
    const text = await metricsText(limiter)
    expect(linesOf(text, 'rate_limiter_decisions_total').toSorted()).toEqual([
      'rate_limiter_decisions_total{rate_limiter_outcome="allowed"} 1',
      'rate_limiter_decisions_total{rate_limiter_tenant="acme",rate_limiter_outcome="allowed"} 2',
      'rate_limiter_decisions_total{rate_limiter_tenant="acme",rate_limiter_policy="rpm",rate_limiter_outcome="denied"} 1',
    ])
    expect(text).not.toContain('secret')
  })

  it('adds up limiters of one name, and says in a comment that nothing is counted', async () => {
    const limiters = ['one', 'one', 'two'].map((name) => setUpPrometheus({ name }).limiter)
    await limiters[0]?.check(ACME)
    await limiters[1]?.check(ACME)
    const texts = await Promise.all(limiters.map((limiter) => metricsText(limiter)))
    const [first, second, other] = texts.map((text) =>
      linesOf(text, 'rate_limiter_decisions_total'),
    )
    expect(first).toEqual(['rate_limiter_decisions_total{rate_limiter_outcome="allowed"} 2'])
    expect(second).toEqual(first)
    expect(other).toEqual([])
    expect(texts[2]).toMatch(/^# No decision has been counted here yet\. .*\n$/)
  })

  it('escapes labels', async () => {
    const { limiter } = setUpPrometheus()
    await limiter.check({ ...ACME, route: 'a"b\\c\nd' })
    expect(await metricsText(limiter)).toContain(String.raw`rate_limiter_route="a\"b\\c\nd"`)
  })

  it('counts units, and dollars as such', async () => {
    const policies = ['token', 'usd'].map((unit) =>
      slidingWindow({ name: unit, unit, limit: 5_000_000, window: '1m', per: ['tenant'] }),
    )
    const { limiter } = setUpPrometheus({}, policies)
    await limiter.check(ACME, { cost: { token: 300, usd: 1_250_000 } })
    const text = await metricsText(limiter)
    expect(linesOf(text, 'rate_limiter_units_total')).toEqual([
      'rate_limiter_units_total{rate_limiter_unit="token",rate_limiter_state="charged"} 300',
    ])
    expect(linesOf(text, 'rate_limiter_cost_usd_total')).toEqual([
      'rate_limiter_cost_usd_total{rate_limiter_state="charged"} 1.25',
    ])
  })

  it('counts denials in shadow and crossings of thresholds, with their labels', async () => {
    const next = fixedWindow({
      name: 'next',
      limit: 1,
      window: '1m',
      per: ['tenant'],
      mode: 'shadow',
    })
    const { limiter } = setUpPrometheus({ tenants: ['acme'] }, [rpm, next])
    for (let count = 0; count < 2; count += 1) await limiter.check({ ...ACME, route: 'chat' })
    const text = await metricsText(limiter)
    expect(linesOf(text, 'rate_limiter_shadow_denials_total')).toEqual([
      'rate_limiter_shadow_denials_total{rate_limiter_route="chat",rate_limiter_tenant="acme",rate_limiter_policy="next"} 1',
    ])
    expect(linesOf(text, 'rate_limiter_thresholds_total')).toEqual(
      ['next', 'rpm'].flatMap((policy) =>
        ['0.8', '0.95'].map(
          (share) =>
            `rate_limiter_thresholds_total{rate_limiter_tenant="acme",rate_limiter_policy="${policy}",rate_limiter_threshold="${share}"} 1`,
        ),
      ),
    )
  })

  it('has a histogram of the time of the store, whose buckets add up', async () => {
    const { limiter } = setUpPrometheus()
    for (let count = 0; count < 3; count += 1) await limiter.check(ACME)
    const lines = linesOf(await metricsText(limiter), 'rate_limiter_store_duration_seconds')
    const call = 'rate_limiter_store_call="check"'
    expect(lines.at(-1)).toBe(`rate_limiter_store_duration_seconds_count{${call}} 3`)
    expect(lines).toContain(`rate_limiter_store_duration_seconds_bucket{${call},le="+Inf"} 3`)
    expect(lines[0]).toContain('le="0.001"')
    const counts = lines
      .filter((line) => line.includes('_bucket'))
      .map((line) => line.split(' ')[1])
    expect(counts.map(Number)).toEqual(counts.map(Number).toSorted((a, b) => a - b))
  })

  it('has at most so many series, and then counts without labels', async () => {
    const { limiter } = setUpPrometheus({ maxSeries: 4 })
    for (const route of ['a', 'b', 'c', 'd', 'e']) await limiter.check({ tenant: route, route })
    const lines = linesOf(await metricsText(limiter), 'rate_limiter_decisions_total')
    expect(lines.length).toBeLessThanOrEqual(4)
    expect(lines.map((line) => Number(line.split(' ')[1])).reduce((a, b) => a + b)).toBe(5)
    expect(lines.some((line) => line.startsWith('rate_limiter_decisions_total '))).toBe(true)
  })
})

/** The line for a tenant's use of its requests. */
const rpmOf = (tenant: string, value: number): string =>
  `rate_limiter_budget_used_ratio{rate_limiter_tenant="${tenant}",rate_limiter_policy="rpm"} ${value}`

describe('the use of budgets', () => {
  it('is looked up for the subjects that are given, and charges nothing', async () => {
    const month = fixedWindow({ name: 'month', limit: 10, window: '30d', per: 'global' })
    const tokens = slidingWindow({
      name: 'tpm',
      unit: 'token',
      limit: 8,
      window: '1m',
      per: ['user'],
      onMissing: 'skip',
    })
    const { limiter, clock } = setUpPrometheus({}, [rpm, month, tokens])
    await limiter.check(ACME, { cost: { request: 1, token: 2 } })
    // A budget of a user has no label to be told apart by.
    const budgets = [{ ...ACME, user: 'u1' }, { tenant: 'other' }]
    const used = async () =>
      linesOf(await metricsText(limiter, { budgets }), 'rate_limiter_budget_used_ratio')
    const month10 = 'rate_limiter_budget_used_ratio{rate_limiter_policy="month"} 0.1'
    expect((await used()).toSorted()).toEqual([month10, rpmOf('acme', 0.5), rpmOf('other', 0)])
    clock.advance(60_000)
    expect(await used()).toContain(rpmOf('acme', 0))
  })

  it('is left out while the store fails', async () => {
    const error = new StoreError('store_unreachable', 'down')
    const store = { ...memory(), check: () => Promise.reject(error) }
    const { limiter } = setUpPrometheus({}, [rpm], { store })
    expect(await metricsText(limiter)).toMatch(/^# .*\n$/)
    await limiter.check(ACME)
    const text = await metricsText(limiter, { budgets: [ACME] })
    expect(text).not.toContain('budget')
    expect(text).toContain('error_type="store_unreachable"')
  })
})

describe('misuse', () => {
  it('is told of at construction', () => {
    expect(() => prometheus({ maxSeries: 0 })).toThrow('prometheus.maxSeries')
    expect(() => prometheus({ tenant: 'acme' } as never)).toThrow('tenant')
    const plain = createLimiter({ store: memory(), policies: [rpm] })
    expect(() => metricsHandler(plain)).toThrow('prometheus(…)')
  })
})
