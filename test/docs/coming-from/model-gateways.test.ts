import { usd } from '@sluice/ai'
import { expect, it } from 'vitest'
import { block, cleanUp, pairs, source } from './page.ts'

cleanUp()

const acme = { tenant: 'acme', plan: 'growth' }
const nothing = { request: 0, token: 0, usd: 0, call: 0 }

it('gives a plan the numbers of LiteLLM’s key', async () => {
  const [, body = ''] = /key\/generate"[^']*'(\{[^']*\})'/.exec(pairs) ?? []
  const key = JSON.parse(body) as Record<string, number>
  const { limiter } = await block('litellm-plans')
  const { policies } = await limiter.peek(acme, { cost: nothing })
  expect(Object.fromEntries(policies.map(({ name, limit }) => [name, limit]))).toEqual({
    rpm: key['rpm_limit'],
    tpm: key['tpm_limit'],
    'budget.daily': usd(key['max_budget'] ?? 0),
    'in-flight': key['max_parallel_requests'],
  })
})

it('denies the 61st request of a minute, and a call above what is left of the day', async () => {
  const { limiter } = await block('litellm-plans')
  for (let sent = 0; sent < 60; sent += 1) {
    expect((await limiter.check(acme, { cost: { ...nothing, request: 1 } })).allowed).toBe(true)
  }
  const last = await limiter.check(acme, { cost: { ...nothing, request: 1 } })
  expect(last).toMatchObject({ allowed: false, violated: { name: 'rpm' } })
  const other = { ...acme, tenant: 'other' }
  await limiter.check(other, { cost: { ...nothing, usd: usd(4) } })
  expect(await limiter.check(other, { cost: { ...nothing, usd: usd(2) } })).toMatchObject({
    allowed: false,
    violated: { name: 'budget.daily' },
  })
})

it('gives the models the names that LiteLLM’s file has', async () => {
  const { ALIASES } = await block<{ ALIASES: object }>('litellm-providers', {
    OPENAI: {},
    ANTHROPIC: {},
  })
  const named = source('litellm.yaml').matchAll(/model_name: (\w+)\n.*model: \w+\/([\w.-]+)/g)
  expect(ALIASES).toEqual(Object.fromEntries(Array.from(named, ([, name, model]) => [name, model])))
})
