import { dailyCap } from '@sluice/core'
import { choices } from '@sluice/core/choices'
import { metricsText, prometheus } from '@sluice/otel/prometheus'
import { beforeEach, describe, expect, it } from 'vitest'
import { ACME, setUp } from '../support/limiters.ts'
import { setUpTelemetry, startSdk } from './support.ts'

const BUDGET = dailyCap({ name: 'budget.daily', unit: 'usd', limit: 100_000, per: ['tenant'] })
const LADDER = choices([
  { subject: { model: 'large' }, cost: { usd: 60_000 } },
  { subject: { model: 'small' }, cost: { usd: 20_000 } },
])

let sdk: ReturnType<typeof startSdk>
beforeEach(() => {
  sdk = startSdk()
})

describe('a decision over choices', () => {
  it('has a span with the model asked, the one used, and the policies without room', async () => {
    const { limiter } = setUpTelemetry(sdk, [BUDGET])
    for (let count = 0; count < 4; count += 1) await limiter.check(ACME, { choices: LADDER })
    const found = sdk
      .spans()
      .map(({ attributes }) => [
        attributes['gen_ai.request.model'],
        attributes['gen_ai.response.model'],
        attributes['rate_limiter.passed_over'],
      ])
    expect(found).toEqual([
      ['large', 'large', []],
      ['large', 'small', ['budget.daily']],
      ['large', 'small', ['budget.daily']],
      ['large', undefined, ['budget.daily', 'budget.daily']],
    ])
  })

  it('is counted by the model asked and the one used', async () => {
    const { limiter } = setUpTelemetry(sdk, [BUDGET])
    for (let count = 0; count < 4; count += 1) await limiter.check(ACME, { choices: LADDER })
    const points = await sdk.points('rate_limiter.decisions')
    const by = points.map(({ attributes, value }) => [
      attributes['rate_limiter.outcome'],
      attributes['gen_ai.request.model'],
      attributes['gen_ai.response.model'],
      value,
    ])
    expect(by).toEqual([
      ['allowed', 'large', 'large', 1],
      ['allowed', 'large', 'small', 2],
      ['denied', 'large', undefined, 1],
    ])
  })

  it('is counted so for Prometheus, too', async () => {
    const { limiter } = setUp([BUDGET], { extensions: [prometheus()] })
    for (let count = 0; count < 2; count += 1) await limiter.check(ACME, { choices: LADDER })
    const lines = (await metricsText(limiter))
      .split('\n')
      .filter((line) => line.startsWith('rate_limiter_decisions_total{'))
    expect(lines).toEqual([
      'rate_limiter_decisions_total{gen_ai_request_model="large",gen_ai_response_model="large",rate_limiter_outcome="allowed"} 1',
      'rate_limiter_decisions_total{gen_ai_request_model="large",gen_ai_response_model="small",rate_limiter_outcome="allowed"} 1',
    ])
  })
})

it('a call that is decided anew after a failure has the model that was asked for', async () => {
  const { limiter } = setUpTelemetry(sdk, [BUDGET])
  const subject = { ...ACME, askedModel: 'large', model: 'small' }
  await limiter.check(subject, { cost: { usd: 1 } })
  const models = { 'gen_ai.request.model': 'large', 'gen_ai.response.model': 'small' }
  expect(sdk.spans()[0]?.attributes).toMatchObject(models)
  expect(await sdk.points('rate_limiter.decisions')).toMatchObject([{ attributes: models }])
})

it('a decision without choices has no attribute of them', async () => {
  const { limiter } = setUpTelemetry(sdk, [BUDGET])
  await limiter.check({ ...ACME, model: 'large' }, { cost: { usd: 1 } })
  expect(sdk.spans()[0]?.attributes).toMatchObject({ 'gen_ai.request.model': 'large' })
  const [{ attributes } = { attributes: {} }] = await sdk.points('rate_limiter.decisions')
  for (const names of [Object.keys(sdk.spans()[0]?.attributes ?? {}), Object.keys(attributes)]) {
    expect(names.filter((name) => /passed|response/.test(name))).toEqual([])
  }
})
