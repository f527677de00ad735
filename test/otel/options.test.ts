import { metrics as globalMetrics, trace } from '@opentelemetry/api'
import { fixedWindow } from '@sluice/core'
import { metrics, modelTelemetry, telemetry, traces, type TelemetryOptions } from '@sluice/otel'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { ACME, collectProblems, setUp } from '../support/limiters.ts'
import { setUpTelemetry, startSdk } from './support.ts'

const rpm = fixedWindow({ name: 'rpm', limit: 100, window: '1m', per: ['tenant'] })

describe('telemetry', () => {
  it.each([
    [{ partition: 'hash' }, 'telemetry.partition'],
    [{ maxValues: 0 }, 'maxValues'],
    [{ flush: 5 }, 'telemetry.flush'],
    [{ flushEvery: 'soon' }, 'telemetry.flushEvery'],
    [{ tenant: 'acme' }, 'telemetry'],
  ] as [TelemetryOptions, string][])('refuses %j at construction', (options, option) => {
    expect(() => setUp([rpm], { extensions: [telemetry(options)] })).toThrow(option)
  })

  it('reports to the global SDK, also if that is registered after the first decision', async () => {
    const { limiter } = setUp([rpm], { extensions: [telemetry()] })
    await limiter.check(ACME)
    const sdk = startSdk()
    trace.setGlobalTracerProvider(sdk.tracerProvider)
    globalMetrics.setGlobalMeterProvider(sdk.meterProvider)
    try {
      await limiter.check(ACME)
      expect(sdk.spans().map(({ name }) => name)).toEqual(['rate_limiter.check'])
      expect(await sdk.counts('rate_limiter.decisions')).toEqual({ 'outcome=allowed': 1 })
    } finally {
      trace.disable()
      globalMetrics.disable()
      await sdk.stop()
    }
  })
})

describe('traces and metrics', () => {
  it('report one signal each, and both beside each other', async () => {
    const reported: Record<string, unknown> = {}
    const kinds = {
      traces: [traces],
      metrics: [metrics],
      both: [traces, metrics],
    } satisfies Record<string, unknown>
    for (const [kind, extensions] of Object.entries(kinds)) {
      const sdk = startSdk()
      const { tracerProvider, meterProvider } = sdk
      const options: Record<string, object> = {
        traces: { tracerProvider },
        metrics: { meterProvider },
      }
      const { limiter } = setUp([rpm], {
        extensions: extensions.map((create) => create(options[create.name])),
      })
      await limiter.check(ACME)
      reported[kind] = [sdk.spans().length, await sdk.counts('rate_limiter.decisions')]
      await sdk.stop()
    }
    const counted = { 'outcome=allowed': 1 }
    expect(reported).toEqual({ traces: [1, {}], metrics: [0, counted], both: [1, counted] })
  })

  it.each([
    [traces, { partition: 'hash' }, 'traces.partition'],
    [traces, { tenants: ['acme'] }, 'traces.tenants'],
    [traces, { flush: 5 }, 'traces.flush'],
    [metrics, { partition: 'hashed' }, 'metrics.partition'],
    [metrics, { maxValues: 0 }, 'maxValues'],
    [metrics, { flushEvery: 'soon' }, 'metrics.flushEvery'],
  ])('%o refuses %j at construction', (create, options, option) => {
    expect(() => setUp([rpm], { extensions: [create(options as never)] })).toThrow(option)
  })
})

describe('flush', () => {
  afterEach(() => vi.useRealTimers())

  it('is called in `waitUntil` after a decision, at most once in `flushEvery`', async () => {
    vi.useFakeTimers({ toFake: ['performance'] })
    const sdk = startSdk()
    const flush = vi.fn<() => Promise<void>>(async () => {})
    const waitUntil = vi.fn<(work: Promise<unknown>) => void>()
    const { limiter } = setUpTelemetry(sdk, [rpm], { telemetry: { flush, flushEvery: '5s' } })
    await limiter.check(ACME, { waitUntil })
    await limiter.check(ACME, { waitUntil })
    expect([flush, waitUntil].map(({ mock }) => mock.calls.length)).toEqual([1, 1])
    vi.advanceTimersByTime(5_000)
    await limiter.check(ACME, { waitUntil })
    expect([flush, waitUntil].map(({ mock }) => mock.calls.length)).toEqual([2, 2])
    await sdk.stop()
  })

  it('that fails is a problem, and no decision fails with it', async () => {
    const { problems, listener } = collectProblems()
    const extensions = [
      telemetry({ flush: () => Promise.reject(new Error('collector is down')) }),
      listener,
    ]
    const { limiter } = setUp([rpm], { extensions })
    expect((await limiter.check(ACME)).allowed).toBe(true)
    await expect.poll(() => problems).toHaveLength(1)
    expect(problems[0]?.message).toContain('telemetry')
  })
})

describe('modelTelemetry', () => {
  const usage = {
    model: 'gpt-4o-2024-08-06',
    input: 1_000,
    output: 50,
    cachedInput: 400,
    cacheWrite: 0,
    source: 'provider' as const,
  }
  const attributes = {
    'gen_ai.operation.name': 'chat',
    'gen_ai.provider.name': 'openai',
    'gen_ai.request.model': 'gpt-4o',
    'gen_ai.response.model': 'gpt-4o-2024-08-06',
  }

  it('reports tokens by the GenAI conventions', async () => {
    const sdk = startSdk()
    const { meterProvider } = sdk
    const onUsage = modelTelemetry({ provider: 'openai', meterProvider })
    onUsage(usage, { ...ACME, model: 'gpt-4o' })
    const start = 'gen_ai.client.inference'
    const counted = { ...attributes, 'gen_ai.token.modality': 'unknown' }
    const pointsOf = (name: string) => sdk.points(`${start}.${name}`)
    expect(await pointsOf('usage.input_tokens')).toEqual([{ attributes: counted, value: 1_000 }])
    expect(await pointsOf('usage.output_tokens')).toEqual([{ attributes: counted, value: 50 }])
    expect(await pointsOf('usage.cache_read.input_tokens')).toEqual([
      { attributes: counted, value: 400 },
    ])
    expect(await pointsOf('usage.cache_write.input_tokens')).toEqual([])
    expect(await pointsOf('operation.input_tokens')).toEqual([
      { attributes, value: expect.objectContaining({ count: 1, sum: 1_000 }) },
    ])
    expect(await sdk.points('gen_ai.client.token.usage')).toEqual([])
    await sdk.stop()
  })

  it('reports no tokens that the provider has not told', async () => {
    const sdk = startSdk()
    const { meterProvider } = sdk
    const onUsage = modelTelemetry({ provider: 'openai', meterProvider })
    onUsage({ ...usage, source: 'counted' }, ACME)
    const [input] = await sdk.points('gen_ai.client.inference.usage.input_tokens')
    expect(input?.value).toBe(0)
    await sdk.stop()
  })

  it('refuses a provider that is none', () => {
    expect(() => modelTelemetry({ provider: '' })).toThrow('modelTelemetry.provider')
  })
})
