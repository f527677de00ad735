import { createLimiter, dailyCap, type Extension } from '@sluice/core'
import { choices } from '@sluice/core/choices'
import { memory } from '@sluice/core/memory'
import { createElement } from 'react'
import { renderToStaticMarkup } from 'react-dom/server'
import { describe, expect, it } from 'vitest'
import { Limits } from '../../packages/dashboard/dist/react/limits.js'
import { NOON } from './support.ts'
import { clock, WAYS } from './ways.ts'

const BUDGET = dailyCap({ name: 'budget.daily', unit: 'usd', limit: 100_000, per: ['tenant'] })
const LADDER = choices([
  { subject: { model: 'gpt-6.1-sol' }, cost: { usd: 80_000 } },
  { subject: { model: 'gpt-6-luna' }, cost: { usd: 10_000 } },
])

function limiterWith(extension: Extension, dimensions: Record<string, string> = {}) {
  const limiter = createLimiter({
    store: memory(),
    clock,
    policies: [BUDGET],
    extensions: [extension],
  })
  return async (options: NonNullable<Parameters<typeof limiter.check>[1]>): Promise<void> => {
    const background: Promise<unknown>[] = []
    const waitUntil = (work: Promise<unknown>) => void background.push(work)
    await limiter.check({ tenant: 'acme', ...dimensions }, { ...options, waitUntil })
    await Promise.all(background)
  }
}

describe.each(Object.entries(WAYS))('%s', (_, way) => {
  it('calls with choices are counted by the model asked and the one used, with the reason of the latest', async () => {
    const { dashboard, extension } = way()
    const check = limiterWith(extension)
    for (let count = 0; count < 4; count += 1) await check({ choices: LADDER })
    const [tenant] = dashboard.view().tenants
    const asked = 'gpt-6.1-sol'
    expect(tenant?.choices).toEqual([
      {
        asked,
        used: 'gpt-6-luna',
        calls: 2,
        passedOver: [
          'gpt-6.1-sol: budget.daily had $0.01 left and it could cost $0.08; gpt-6-luna fitted',
        ],
      },
      { asked, used: asked, calls: 1, passedOver: [] },
      {
        asked,
        calls: 1,
        passedOver: [
          expect.stringMatching(/^gpt-6.1-sol: .*; it would have fitted in 12h$/),
          expect.stringMatching(/^gpt-6-luna: /),
        ],
      },
    ])
    const page = renderToStaticMarkup(createElement(Limits, { tenant, now: NOON }))
    expect(page).toContain('gpt-6.1-sol → gpt-6-luna: 2 calls')
    expect(page).toContain('gpt-6.1-sol → denied: 1 call')
    expect(page).toContain('budget.daily had $0.01 left and it could cost $0.08')
  })

  it('a call that is decided anew after a failure is one for the model that was asked for', async () => {
    const { dashboard, extension } = way()
    const check = limiterWith(extension, { askedModel: 'gpt-6.1-sol', model: 'gpt-6-luna' })
    await check({ cost: { usd: 1 } })
    expect(dashboard.view().tenants[0]?.choices).toEqual([
      { asked: 'gpt-6.1-sol', used: 'gpt-6-luna', calls: 1, passedOver: [] },
    ])
  })

  it('a tenant without choices has none on the page', async () => {
    const { dashboard, extension } = way()
    await limiterWith(extension)({ cost: { usd: 1 } })
    const [tenant] = dashboard.view().tenants
    expect(tenant).not.toHaveProperty('choices')
    expect(renderToStaticMarkup(createElement(Limits, { tenant, now: NOON }))).not.toContain('→')
  })
})

it('a tenant has 20 pairs of choices at most, and those that it had first are counted on', async () => {
  const { dashboard, extension } = WAYS['in its process']()
  const check = limiterWith(extension)
  for (let model = 0; model < 30; model += 1) {
    const only = choices([{ subject: { model: `m${model}` }, cost: { usd: 1 } }])
    await check({ choices: only })
  }
  await check({ choices: choices([{ subject: { model: 'm0' }, cost: { usd: 1 } }]) })
  const pairs = dashboard.view().tenants[0]?.choices ?? []
  expect([pairs.length, pairs[0]]).toMatchObject([20, { asked: 'm0', calls: 2 }])
})
