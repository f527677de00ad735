import { StoreError, createLimiter, type Limiter, type Store } from '@sluice/core'
import { memory } from '@sluice/core/memory'
import { createDashboard, dashboardHandler } from '@sluice/dashboard'
import { whyDenied } from '@sluice/dashboard/why'
import { denialId, flushDenials, recordDenials } from '@sluice/usage/denials'
import { describe, expect, it } from 'vitest'
import { ownRedis } from '../../support/running-redis.ts'
import { CHAT, asking, setUp, tpm } from './support.ts'

const redis = ownRedis()
const down = (): Promise<never> => Promise.reject(new StoreError('store_unreachable', 'down'))

/** Denies a request, as behind an adapter that answers with the id of the request. */
async function deny(limiter: Limiter, id: string): Promise<void> {
  const decision = await limiter.check(CHAT, { cost: { token: 101 } })
  const headers = { 'x-request-id': id }
  if (!decision.allowed) denialId()(decision, new Request('https://app.example', { headers }))
}

describe('the id of a denial', () => {
  it('leads to its decision, of this tenant alone', async () => {
    const { clock, limiter, ask } = setUp(redis, [recordDenials({ flushEvery: '1h' })])
    await deny(limiter, 'req_7')
    await flushDenials(limiter)
    clock.advance(3_600_000)
    expect((await ask({ tenant: 'acme', id: 'req_7' })).lines).toEqual([
      '2026-01-15 12:00:30Z tenant=acme route=chat',
      'Denied by tpm: 0 of 100 tokens used, and it asked for 101.',
      '  It could never fit: it asked for more than the limit.',
      '  rpm: 0 of 60 requests used',
      '  all: 0 of 900 requests used',
    ])
    const other = await ask({ tenant: 'globex', id: 'req_7' })
    expect(other.lines).toEqual([
      'globex has no recorded denial with the id req_7: it may be older than a day, not saved yet, or one of more than are kept',
    ])
  })

  it('is looked up in each limiter, and those that record none are named, with the remedy', async () => {
    const recording = setUp(redis, [recordDenials({ flushEvery: '1h' })])
    const silent = setUp(redis)
    await deny(recording.limiter, 'req_8')
    await flushDenials(recording.limiter)
    const ask = asking({ images: silent.limiter, api: recording.limiter })
    expect((await ask({ tenant: 'acme', id: 'req_8' })).lines[1]).toContain('Denied by tpm')
    const none = await ask({ tenant: 'acme', id: 'req_9' })
    expect(none.lines).toEqual([
      expect.stringContaining('acme has no recorded denial with the id req_9'),
      expect.stringContaining('images: denials are not recorded. Add recordDenials() '),
    ])
    const nowhere = await silent.ask({ tenant: 'acme', id: 'req_8' })
    expect(nowhere.lines).toEqual([expect.stringMatching(/^api: denials are not recorded\. Add /)])
  })
})

describe('a page', () => {
  it('calls the store when somebody asks, and never else', async () => {
    const { dashboard, limiter } = setUp(redis, [recordDenials({ flushEvery: '1h' })])
    const handler = dashboardHandler(dashboard, {
      authorize: () => true,
      why: whyDenied({ api: limiter }),
    })
    const view = await redis.meter.measure(async () => {
      const response = await handler(new Request('https://app.example/api/dashboard'))
      const reader = response.body?.getReader()
      await reader?.read()
      await reader?.read()
      await reader?.cancel()
    })
    expect(view.total).toBe(0)
    const question = await redis.meter.measure(() =>
      asking({ api: limiter })({ tenant: 'acme', id: 'x' }),
    )
    expect(question.total).toBeGreaterThan(0)
    expect(question.writes).toBe(0)
  })

  it('gets no answer for those whom authorize does not admit', async () => {
    const { dashboard, limiter } = setUp(redis, [recordDenials({ flushEvery: '1h' })])
    const ask = asking({ api: limiter }, dashboard, { authorize: () => false })
    const { total } = await redis.meter.measure(async () => {
      for (const question of [{ tenant: 'acme' }, { tenant: 'acme', id: 'req_7' }]) {
        expect(await ask(question)).toMatchObject({
          status: 403,
          lines: [expect.stringContaining('"authorize"')],
        })
      }
    })
    expect(total).toBe(0)
  })

  it('is told the command and the option, where the handler cannot answer', async () => {
    const ask = asking({ api: setUp(redis).limiter }, createDashboard(), { why: undefined })
    const { status, lines } = await ask({ tenant: 'acme' })
    expect([status, lines[0]]).toEqual([
      404,
      expect.stringContaining('npx @sluice/cli why --tenant NAME'),
    ])
    expect(lines[0]).toContain('whyDenied({ api: limiter })')
  })

  it('is told that the store fails', async () => {
    const store: Store = { ...memory(), check: down, run: down }
    const limiter = createLimiter({
      store,
      policies: [tpm],
      onStoreError: 'deny',
      extensions: [recordDenials()],
    })
    const ask = asking({ api: limiter })
    const now = await ask({ tenant: 'acme' })
    expect(now.lines[2]).toMatch(/^Denied without the store, which failed \(store_unreachable\)/)
    expect(await ask({ tenant: 'acme', id: 'req_7' })).toMatchObject({
      status: 503,
      lines: ['The store does not answer (store_unreachable). Try again.'],
    })
  })
})

it.each([
  ['{'],
  ['null'],
  [{}],
  [{ tenant: '' }],
  [{ tenant: 5 }],
  [{ tenant: 'acme', id: '' }],
  [{ tenant: 'acme', id: {} }],
  [{ tenant: 'acme', limiter: 5 }],
  [{ tenant: 'acme', subject: { route: 5 } }],
  [{ tenant: 'acme', subject: 'route' }],
  [{ tenant: 'acme', cost: { token: '5' } }],
])('refuses %j, which no page sends', async (question) => {
  expect(await asking({ api: setUp(redis).limiter })(question)).toMatchObject({ status: 400 })
})

it('does not answer the page of another site', async () => {
  const { dashboard, limiter } = setUp(redis)
  const why = whyDenied({ api: limiter })
  const handler = dashboardHandler(dashboard, { authorize: () => true, why })
  const url = `https://app.example/api/dashboard?why=${encodeURIComponent('{"tenant":"acme"}')}`
  const statuses: number[] = []
  const { total } = await redis.meter.measure(async () => {
    const headers = { 'sec-fetch-site': 'cross-site' }
    statuses.push((await handler(new Request(url, { headers }))).status)
  })
  expect([statuses, total]).toEqual([[403], 0])
  const own = new Request(url, { headers: { 'sec-fetch-site': 'same-origin' } })
  expect((await handler(own)).status).toBe(200)
})

it('names a wrong option', () => {
  expect(() => whyDenied(null as never)).toThrow('needs a limiter')
  const { limiter } = setUp(redis)
  expect(() => whyDenied({})).toThrow('needs a limiter')
  expect(() => whyDenied({ api: {} as Limiter })).toThrow('must be created by createLimiter')
  expect(() => whyDenied({ api: limiter }, { per: 'org' } as never)).toThrow('per')
  expect(() => whyDenied({ api: limiter }, { by: '' })).toThrow('whyDenied.by')
  const why = limiter as never
  expect(() => dashboardHandler(createDashboard(), { authorize: () => true, why })).toThrow(
    'dashboardHandler.why',
  )
})
