import {
  backpressure,
  concurrency,
  createLimiter,
  dailyCap,
  definePlans,
  slidingWindow,
} from '@sluice/core'
import { credits } from '@sluice/core/credits'
import { memory } from '@sluice/core/memory'
import { describe, expect, it } from 'vitest'
import { replayText } from '../support.ts'

/** A log with calls at these seconds after noon. */
const log = (
  header: string,
  ...lines: readonly (readonly [second: number, rest: string])[]
): string =>
  [
    `time,${header}`,
    ...lines.map(([second, rest]) => `${Date.UTC(2026, 2, 1, 12) / 1_000 + second},${rest}`),
  ].join('\n')

const rpm = (limit: number): ReturnType<typeof slidingWindow<['tenant'], undefined>> =>
  slidingWindow({ name: 'rpm', limit, window: '1m', per: ['tenant'] })

describe('a replay', () => {
  it('says who would have been denied, when and by which policy, and what it would have saved', async () => {
    const text = log(
      'tenant,input,output,model',
      [0, 'acme,1000,200,gpt-4o'],
      [1, 'acme,1000,200,gpt-4o'],
      [2, 'beta,1000,200,gpt-4o'],
      [61, 'acme,1000,200,gpt-4o'],
    )
    const { log: facts, sets } = await replayText(text, { policies: [rpm(1)] })
    expect(facts.used).toEqual({ calls: 4, tokens: 4_800, usd: 18_000 })
    expect(sets[0]).toMatchObject({
      denied: { calls: 1, tokens: 1_200, usd: 4_500 },
      policies: [{ name: 'rpm', denied: 1, tenants: 1, firstDeniedAt: '2026-03-01T12:00:01.000Z' }],
      tenants: [{ tenant: 'acme', used: { calls: 3 }, denied: { calls: 1 }, policies: { rpm: 1 } }],
    })
  })

  it('reports each denial to a callback', async () => {
    const lines: number[] = []
    await replayText(
      log('tenant', [0, 'acme'], [1, 'acme']),
      { policies: [rpm(1)] },
      { onDenied: ({ call, decision }) => lines.push(call.line, decision.retryAfterMs ?? -1) },
    )
    expect(lines).toEqual([3, 59_000])
  })

  it('takes the policies and plans of a limiter, whatever its store', async () => {
    const store = { ...memory(), check: () => Promise.reject(new Error('no I/O in a replay')) }
    const limiter = createLimiter({
      store,
      plans: definePlans({ starter: { rpm: 1 }, growth: { rpm: 2 } }),
      policies: [
        slidingWindow({
          name: 'rpm',
          limit: ({ plan }) => plan.rpm,
          window: '1m',
          per: ['tenant'],
        }),
      ],
    })
    const text = log(
      'tenant,plan',
      [0, 'a,'],
      [1, 'a,'],
      [2, 'b,growth'],
      [3, 'b,growth'],
      [4, 'c,x'],
    )
    const { sets } = await replayText(text, { limiter })
    expect(sets[0]?.tenants).toMatchObject([{ tenant: 'a', plan: 'starter' }])
  })

  it('counts what a shadow would deny of the allowed calls, by tenant', async () => {
    const next = slidingWindow({
      name: 'next',
      limit: 1,
      window: '1m',
      per: ['tenant'],
      mode: 'shadow',
    })
    // The fourth call of `a` is denied by "rpm", so the shadow changes nothing about it.
    const calls = ['a', 'b', 'a', 'c', 'a', 'a', 'b'].map(
      (name, at) => [at, `${name},100`] as const,
    )
    const { sets } = await replayText(log('tenant,tokens', ...calls), { policies: [rpm(3), next] })
    const denied = { calls: 1, tokens: 100 }
    expect(sets[0]).toMatchObject({ denied, policies: [{ name: 'rpm' }, { name: 'next' }] })
    expect(sets[0]?.shadow).toEqual([
      {
        policy: 'next',
        requests: 6,
        denied: 3,
        tokens: 300,
        usd: 0,
        tenants: [
          { tenant: 'a', requests: 3, denied: 2, tokens: 200, usd: 0 },
          { tenant: 'b', requests: 2, denied: 1, tokens: 100, usd: 0 },
        ],
      },
    ])
  })

  it('counts what backpressure would delay', async () => {
    const slow = slidingWindow({
      name: 'slow',
      limit: 2,
      window: '1m',
      per: ['tenant'],
      backpressure: backpressure({ from: 0.5, maxMs: 2_000 }),
    })
    const text = log('tenant', [0, 'a'], [1, 'a'])
    const { sets } = await replayText(text, { policies: [slow] })
    expect(sets[0]).toMatchObject({ denied: { calls: 0 }, delayed: 1 })
    expect(sets[0]?.shadow).toEqual([])
  })

  it('leaves out calls in flight, and says so', async () => {
    const inFlight = concurrency({ name: 'in-flight', limit: 1, per: ['tenant'] })
    const text = log('tenant', [0, 'a'], [1, 'a'])
    const { sets } = await replayText(text, { policies: [rpm(5), inFlight] })
    expect(sets[0]).toMatchObject({ denied: { calls: 0 }, omitted: [{ name: 'in-flight' }] })
    await expect(replayText(text, { policies: [inFlight] })).rejects.toThrow(
      /policies: must have a policy that can be replayed \(in-flight: /,
    )
  })

  it('leaves out credits, of policies and of a limiter, and says so', async () => {
    const balance = credits({ name: 'credits', per: ['tenant'], unsettled: 'keep' })
    const policies = [rpm(1), balance]
    const limiter = createLimiter({ store: memory(), onStoreError: 'deny', policies })
    const text = log('tenant', [0, 'a'], [1, 'a'])
    for (const limits of [{ policies }, { limiter }]) {
      const { sets } = await replayText(text, limits)
      expect(sets[0]).toMatchObject({
        denied: { calls: 1 },
        omitted: [{ name: 'credits', reason: expect.stringContaining('grants') }],
      })
    }
  })

  it('counts calls without a price', async () => {
    const usd = dailyCap({ name: 'daily', unit: 'usd', limit: 4_500, per: ['tenant'] })
    const text = log(
      'tenant,input,output,model',
      [0, 'a,1000,200,gpt-4o'],
      [1, 'a,1000,200,unheard-of'],
      [2, 'a,1000,200,gpt-4o'],
    )
    const { log: facts, sets } = await replayText(text, { policies: [usd] })
    expect([facts.unpriced, sets[0]?.denied.calls]).toEqual([1, 1])
  })
})

describe('normal tenants', () => {
  // The log has two windows of a minute, and one day.
  const text = log(
    'tenant',
    [0, 'even'],
    [0, 'burst'],
    [1, 'burst'],
    [0, 'heavy'],
    [1, 'heavy'],
    [2, 'heavy'],
    [60, 'even'],
  )

  it('are those whose use over the log lies within the limits', async () => {
    const { sets, normal } = await replayText(text, {
      policies: [rpm(1), dailyCap({ name: 'd', limit: 2, per: ['tenant'] })],
    })
    expect(normal).toMatch(/is at most the limit times/)
    expect(sets[0]?.tenants.map(({ tenant }) => tenant)).toEqual(['heavy', 'burst'])
    expect(sets[0]?.normal).toMatchObject({ tenants: 2, hurt: [{ tenant: 'burst' }] })
  })

  it('are all but those that you except', async () => {
    const { sets, normal } = await replayText(text, { policies: [rpm(1)] }, { except: ['heavy'] })
    expect(normal).toBe('Every tenant is normal except heavy.')
    expect(sets[0]?.normal).toMatchObject({ tenants: 2, hurt: [{ tenant: 'burst' }] })
  })
})

it('compares two sets of limits, call by call', async () => {
  const text = log('tenant', [0, 'a'], [1, 'a'], [2, 'a'])
  const { comparison, sets } = await replayText(text, [
    { policies: [rpm(1)] },
    { policies: [rpm(2)] },
  ])
  expect(sets.map(({ denied }) => denied.calls)).toEqual([2, 1])
  expect(comparison).toEqual({ bothAllow: 1, bothDeny: 1, onlyFirstDenies: 1, onlySecondDenies: 0 })
})

it('keeps intervals few, however long the log', async () => {
  const text = log('tenant', [0, 'a'], [10, 'a'], [5_000_000, 'a'])
  const { sets } = await replayText(text, { policies: [rpm(1)] })
  const [set] = sets
  expect(set?.intervalMs).toBe(43_200_000)
  expect(set?.series.length).toBeLessThanOrEqual(180)
  expect(set?.series[0]).toMatchObject({ allowed: 1, denied: 1 })
  expect(set?.series.at(-1)).toMatchObject({ allowed: 1, denied: 0 })
})

describe('a log that lacks what a policy counts', () => {
  it.each([
    ['tenant', 'token', /columns: must name the column "input=… and output=…": .* "token"/],
    ['tenant', 'image', /columns: must name the column "unit:image=…"/],
    ['tenant', 'usd', /columns: must name the cost, or input and output tokens/],
    ['tenant,input,output', 'usd', /model: must be the model whose price applies/],
  ])('with the columns %s, of %s, is an error', async (header, unit, message) => {
    const text = log(header, [
      0,
      header
        .split(',')
        .map(() => '1')
        .join(),
    ])
    const policies = [dailyCap({ name: 'daily', unit, limit: 5, per: ['tenant'] })]
    await expect(replayText(text, { policies })).rejects.toThrow(message)
  })

  it('of a dimension, is an error that names the line and the column', async () => {
    const policies = [slidingWindow({ name: 'u', limit: 1, window: '1m', per: ['user'] })]
    await expect(replayText(log('tenant', [0, 'a']), { policies })).rejects.toThrow(
      /columns: line 2: subject.user is missing.*"user=…"/,
    )
  })
})
