import { concurrency, createLimiter, type Extension } from '@sluice/core'
import { runtimeConfiguration, configure } from '@sluice/core/configuration'
import { memory } from '@sluice/core/memory'
import { adaptiveLimit } from '@sluice/core/upstream'
import { createElement } from 'react'
import { renderToStaticMarkup } from 'react-dom/server'
import { describe, expect, it } from 'vitest'
import { Limits } from '../../packages/dashboard/dist/react/limits.js'
import { NOON } from './support.ts'
import { clock, WAYS } from './ways.ts'

function limiterWith(extension: Extension) {
  const policy = concurrency({ name: 'calls', limit: 200, per: 'global', maxDuration: '1m' })
  const configuration = runtimeConfiguration({ allow: { calls: ['limit'] } })
  const limiter = createLimiter({
    store: memory(),
    clock,
    policies: [policy],
    // In either order.
    extensions: [extension, configuration, adaptiveLimit({ policy: 'calls', min: 10 })],
  })
  return async (): Promise<void> => {
    const background: Promise<unknown>[] = []
    const waitUntil = (work: Promise<unknown>) => void background.push(work)
    await limiter.check({ tenant: 'acme' }, { cost: { request: 1, call: 0 }, waitUntil })
    await Promise.all(background)
  }
}

describe.each(Object.entries(WAYS))('%s', (_, way) => {
  it('a limit that follows an upstream is shown beside the one in the code, with a word on why', async () => {
    const { dashboard, extension } = way()
    await limiterWith(extension)()
    const [tenant] = dashboard.view().tenants
    expect(tenant?.policies[0]).toMatchObject({
      limit: 10,
      adapted: { most: 200, why: expect.stringContaining('it starts at its min') },
    })
    const page = renderToStaticMarkup(createElement(Limits, { tenant, now: NOON }))
    expect(page).toContain('10 now, 200 in the code: it starts at its min')
  })
})

it('a limit that was set at run time is not called adapted', async () => {
  const { dashboard, extension } = WAYS['in its process']()
  const store = memory()
  const limiter = createLimiter({
    store,
    clock,
    policies: [concurrency({ name: 'calls', limit: 200, per: 'global', maxDuration: '1m' })],
    extensions: [
      runtimeConfiguration({ allow: { calls: ['limit'] } }),
      adaptiveLimit({ policy: 'calls', min: 10 }),
      extension,
    ],
  })
  await configure(limiter, { calls: { limit: 50 } })
  await limiter.check({ tenant: 'acme' }, { cost: { request: 1, call: 0 } })
  const policy = dashboard.view().tenants[0]?.policies[0]
  expect(policy?.limit).toBe(50)
  expect(policy?.adapted).toBeUndefined()
})
