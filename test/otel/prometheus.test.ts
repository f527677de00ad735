import {
  createLimiter,
  dailyCap,
  definePlans,
  fixedWindow,
  slidingWindow,
  StoreError,
  type Policy,
} from '@sluice/core'
import { memory } from '@sluice/core/memory'
import { reserve } from '@sluice/core/reservations'
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

  it('escapes the values of labels', async () => {
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

  it('is refused for a subject that lacks a dimension, before the first scrape', () => {
    const daily = dailyCap({ name: 'daily', limit: 5, per: ['tenant', 'route'] })
    const { limiter } = setUpPrometheus({}, [rpm, daily])
    expect(() =>
      metricsHandler(limiter, { budgets: [{ ...ACME, route: 'a' }, { tenant: 'other' }] }),
    ).toThrow(
      'metricsHandler.budgets[1]: lacks route, by which policy "daily" counts; name it beside the others',
    )
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

describe('the dollars of a request', () => {
  const budget = slidingWindow({
    name: 'budget',
    unit: 'usd',
    limit: 99_000_000,
    window: '1m',
    per: ['tenant'],
  })

  it('are a histogram by plan and model, whose sum is that of the counters', async () => {
    const plans = definePlans({ free: {}, paid: {} })
    const { limiter } = setUpPrometheus({}, [budget], { plans })
    const cost = { usd: 2_000_000 }
    const small = { ...ACME, plan: 'free', model: 'gpt-4o-mini' }
    const large = { ...ACME, plan: 'paid', model: 'gpt-4o' }
    await limiter.check(small, { cost: { usd: 200 } })
    await limiter.check(small, { cost: { usd: 0 } })
    for (const actual of [40_000, 1_500_000, 0]) {
      const call = await reserve(limiter, large, { cost })
      if (call.allowed) await call.settle({ usd: actual })
    }
    await reserve(limiter, large, { cost })
    const text = await metricsText(limiter)
    const of = (end: string) => linesOf(text, `rate_limiter_request_cost_usd_${end}`)
    const mini = 'rate_limiter_plan="free",gen_ai_request_model="gpt-4o-mini"'
    const full = 'rate_limiter_plan="paid",gen_ai_request_model="gpt-4o"'
    // A reserved, free or unsent call is no cost of a request.
    expect(of('count')).toEqual([
      `rate_limiter_request_cost_usd_count{${mini}} 1`,
      `rate_limiter_request_cost_usd_count{${full}} 2`,
    ])
    expect(of('sum')).toEqual([
      `rate_limiter_request_cost_usd_sum{${mini}} 0.0002`,
      `rate_limiter_request_cost_usd_sum{${full}} 1.54`,
    ])
    expect(of('bucket')).toContain(`rate_limiter_request_cost_usd_bucket{${mini},le="0.0003"} 1`)
    expect(of('bucket')).toContain(`rate_limiter_request_cost_usd_bucket{${full},le="0.03"} 0`)
    expect(of('bucket')).toContain(`rate_limiter_request_cost_usd_bucket{${full},le="0.1"} 1`)
    const spent = linesOf(text, 'rate_limiter_cost_usd_total')
      .filter((line) => /state="(charged|settled|abandoned)"/.test(line))
      .map((line) => Number(line.split(' ')[1]))
    expect(spent.reduce((sum, dollars) => sum + dollars)).toBeCloseTo(1.5402, 9)
  })

  it('have no more models than are asked for, and no series without a limit of dollars', async () => {
    const { limiter } = setUpPrometheus({ maxValues: 2 }, [budget])
    for (const model of ['a', 'b', 'c', 'd']) {
      await limiter.check({ ...ACME, model }, { cost: { usd: 1_000 } })
    }
    const counts = linesOf(await metricsText(limiter), 'rate_limiter_request_cost_usd_count')
    expect(counts.map((line) => line.split('gen_ai_request_model=')[1])).toEqual([
      '"a"} 1',
      '"b"} 1',
      '"other"} 2',
    ])
    const other = setUpPrometheus()
    await other.limiter.check({ ...ACME, model: 'a' })
    expect(await metricsText(other.limiter)).not.toContain('request_cost')
  })
})

describe('the used share of a limit', () => {
  it('is a histogram by limit and plan', async () => {
    const plans = definePlans({ free: { rpm: 4 }, paid: { rpm: 100 } })
    const policy = fixedWindow({
      name: 'rpm',
      limit: ({ plan }) => plan['rpm'] ?? 0,
      window: '1m',
      per: ['tenant'],
    })
    const { limiter } = setUpPrometheus({}, [policy], { plans })
    await limiter.check({ ...ACME, plan: 'free' })
    await limiter.check({ tenant: 'other', plan: 'paid' })
    const sums = linesOf(await metricsText(limiter), 'rate_limiter_limit_used_ratio_sum')
    expect(sums).toEqual([
      'rate_limiter_limit_used_ratio_sum{rate_limiter_plan="free",rate_limiter_policy="rpm"} 0.25',
      'rate_limiter_limit_used_ratio_sum{rate_limiter_plan="paid",rate_limiter_policy="rpm"} 0.01',
    ])
  })
})

describe('misuse', () => {
  it('is told of at construction', () => {
    expect(() => prometheus({ maxSeries: 0 })).toThrow('prometheus.maxSeries')
    for (const topBudgets of [0, 101]) {
      expect(() => prometheus({ topBudgets })).toThrow('prometheus.topBudgets')
    }
    expect(() => prometheus({ tenant: 'acme' } as never)).toThrow('tenant')
    const plain = createLimiter({ store: memory(), policies: [rpm] })
    expect(() => metricsHandler(plain)).toThrow('prometheus(…)')
  })
})
