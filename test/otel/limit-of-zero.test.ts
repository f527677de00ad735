/* A limit of 0, as of a tenant that is stopped: nothing is left, and nothing is used. */
import { createLimiter, fixedWindow, slidingWindow, tokenBucket } from '@sluice/core'
import { memory } from '@sluice/core/memory'
import { createDashboard } from '@sluice/dashboard'
import { telemetry } from '@sluice/otel'
import { metricsText, prometheus } from '@sluice/otel/prometheus'
import { createElement } from 'react'
import { renderToStaticMarkup } from 'react-dom/server'
import { expect, it } from 'vitest'
import { Limits } from '../../packages/dashboard/dist/react/limits.js'
import { startSdk } from './support.ts'

const common = { name: 'p', limit: 0, window: '1m', per: 'global' } as const

it.each([
  ['fixedWindow', fixedWindow(common)],
  ['slidingWindow', slidingWindow(common)],
  ['tokenBucket', tokenBucket(common)],
])('%s: no metric and no page shows it as used up', async (_, policy) => {
  const sdk = startSdk()
  const dashboard = createDashboard()
  const limiter = createLimiter({
    store: memory(),
    policies: [policy],
    extensions: [prometheus(), telemetry({ meterProvider: sdk.meterProvider }), dashboard.watch()],
  })
  expect((await limiter.check({ tenant: 'acme' })).allowed).toBe(false)
  const text = await metricsText(limiter, { budgets: [{ tenant: 'acme' }] })
  expect(text).toContain('rate_limiter_limit{rate_limiter_policy="p"} 0')
  expect(text).not.toMatch(/budget_used_ratio|limit_used_ratio/)
  expect(await sdk.counts('rate_limiter.limit')).toEqual({ 'policy=p': 0 })
  expect(await sdk.points('rate_limiter.budget.used')).toEqual([])
  expect(await sdk.points('rate_limiter.limit.used')).toEqual([])
  const { tenants, now } = dashboard.view()
  const page = renderToStaticMarkup(createElement(Limits, { tenant: tenants[0], now }))
  expect(page).toContain('0 of 0 used')
  expect(page).toContain('width:0%')
  expect(page).not.toContain('sluice-full')
  await sdk.stop()
})
