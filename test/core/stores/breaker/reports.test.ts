import { listen, type LimiterEvents, type OnStoreError } from '@sluice/core'
import { rateLimit } from '@sluice/core/http'
import { describe, expect, it } from 'vitest'
import { ACME, collectProblems, setUp } from '../../../support/limiters.ts'
import { breaker } from '@sluice/core/breaker'
import { FaultyStore, hourly, pass, setUpBreaker, stopDates, unreachable } from './support.ts'

stopDates()

const OPENED =
  'Sluice: The store is not called: the breaker opened at 2026-01-15T12:00:30.000Z (consecutive failures: 2, the last store_unreachable). One call every 1000 ms tries the store (docs/errors.md#store_paused)'

describe('a breaker is reported', () => {
  it('once when it has opened, with the time and what it means, and once when it has closed', async () => {
    const { store, problems, cause, open } = setUpBreaker({ onStoreError: 'deny' })
    await open()
    for (let count = 0; count < 5; count += 1) await cause()
    for (let count = 0; count < 5; count += 1) {
      pass(1_000)
      await cause()
    }
    store.error = undefined
    pass(1_000)
    for (let count = 0; count < 5; count += 1) await cause()
    expect(problems).toEqual([
      {
        code: 'store_unreachable',
        message: "Sluice: down (docs/errors.md#store_unreachable). onStoreError is 'deny'",
      },
      { code: 'store_paused', message: `${OPENED}. onStoreError is 'deny'` },
      {
        code: 'store_recovered',
        message: expect.stringContaining('The store is back after'),
      },
    ])
  })

  it('again a minute later, if it is still open', async () => {
    const { problems, clock, cause, open } = setUpBreaker()
    await open()
    await cause()
    clock.advance(59_999)
    await cause()
    expect(problems.map(({ code }) => code)).toEqual(['store_unreachable', 'store_paused'])
    clock.advance(1)
    await cause()
    expect(problems.slice(2).map(({ code }) => code)).toEqual(['store_paused'])
  })

  it('by each limiter that it has paused, and by no other', async () => {
    const store = new FaultyStore()
    const shared = breaker(store, { failures: 1 })
    const [one, other, idle] = [collectProblems(), collectProblems(), collectProblems()]
    const [first, second] = [one, other, idle].map(
      ({ listener }) => setUp([hourly], { store: shared, extensions: [listener] }).limiter,
    )
    store.error = unreachable()
    await first?.check(ACME)
    await second?.check(ACME)
    store.error = undefined
    pass(1_000)
    await first?.check(ACME)
    await second?.check(ACME)
    const codes = [one, other, idle].map(({ problems }) => problems.map(({ code }) => code))
    expect(codes).toEqual([
      ['store_unreachable', 'store_recovered'],
      ['store_paused', 'store_recovered'],
      [],
    ])
  })

  it('with the name of an error that is no StoreError, and not with its text', async () => {
    const { store, problems, cause } = setUpBreaker({ failures: 1 })
    store.error = new Error('no such column: acme')
    for (let count = 0; count < 2; count += 1) await cause()
    expect(problems[1]?.message).toContain('the last store_failed')
    expect(problems[1]?.message).not.toContain('acme')
  })
})

it('a call that is paused is an event storeCall with its error, and one of degraded', async () => {
  const events: unknown[] = []
  const listener = listen({
    storeCall: ({ call, error }: LimiterEvents['storeCall']) => void events.push([call, error]),
    degraded: ({ degraded }) => void events.push(degraded),
  })
  const { cause, open } = setUpBreaker({ extensions: [listener], onStoreError: 'allow' })
  await open()
  events.length = 0
  await cause()
  expect(events).toEqual([
    ['check', expect.objectContaining({ code: 'store_paused' })],
    { cause: 'store_paused', mode: 'allow' },
  ])
})

describe('while it is open, onStoreError decides:', () => {
  it.each<[OnStoreError, number, object]>([
    ['local', 200, { allowed: true, source: 'memory' }],
    ['allow', 200, { allowed: true, policies: [] }],
    ['deny', 503, { allowed: false, reason: 'store_unavailable', retryAfterMs: 1_000 }],
  ])('%s', async (mode, status, decision) => {
    const { limiter, open } = setUpBreaker({ onStoreError: mode })
    await open()
    const degraded = { cause: 'store_paused', mode }
    expect(await limiter.check(ACME)).toMatchObject({ ...decision, degraded })
    const handle = rateLimit(
      limiter,
      { routes: ['/**'], subject: () => ACME },
      () => new Response('answered'),
    )
    const response = await handle(new Request('https://app.example/chat'))
    expect(response.status).toBe(status)
    expect(response.headers.get('retry-after')).toBe(status === 503 ? '1' : null)
    // A client is not told why.
    expect(JSON.stringify([...response.headers]) + (await response.text())).not.toMatch(/paused/)
  })
})
