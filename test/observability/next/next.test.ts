import { createHash } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { startLocal, type LocalServer } from '@sluice/local'
import { afterAll, beforeAll, describe, expect, inject, it, vi } from 'vitest'
import { build, edit, start, type RunningApp } from '../../next/support/build.ts'
import { newTenant, type SetUp, type Tenant } from '../../next/support/set-up.ts'
import { readBlock } from '../../support/docs-block.ts'
import { startReceiver, type ReceivedPoint, type ReceivedSpan } from './otlp-receiver.ts'

/** Sent at once, so that the test need not wait a minute. */
const EVERY_SECOND = 'new PeriodicExportingMetricReader({ exportIntervalMillis: 1_000, '

const PATIENTLY = { timeout: 30_000, interval: 200 }

/** The labels of a point that the test looks at. */
const described = (attributes: ReceivedPoint['attributes']): string =>
  ['rate_limiter.route', 'rate_limiter.outcome', 'rate_limiter.store.call']
    .flatMap((label) => attributes[label] ?? [])
    .join(' ')

/** Adds `telemetry()` to the limiter, and the docs' instrumentation. */
function instrument(folder: string): void {
  const instrumentation = readBlock('observability.md', 'instrumentation.ts')
  writeFileSync(`${folder}/instrumentation.ts`, instrumentation)
  edit(`${folder}/instrumentation.ts`, 'new PeriodicExportingMetricReader({ ', EVERY_SECOND)
  edit(`${folder}/limits.ts`, 'import', "import { telemetry } from '@sluice/otel'\nimport")
  edit(`${folder}/limits.ts`, 'limiter = createLimiter({', '$& extensions: [telemetry()],')
}

const MIDDLEWARE = { path: '/api/ai/evaluate', route: 'evaluate' }
const NODE_ROUTE = { path: '/api/wrapped/evaluate', route: 'wrapped', runtime: 'nodejs' }
const EDGE_ROUTE = { path: '/api/wrapped/edge', route: 'edge', runtime: 'edge' }

const VARIANTS = [
  {
    name: 'telemetry edge',
    proxy: undefined,
    limited: [{ ...MIDDLEWARE, runtime: 'edge' }, NODE_ROUTE, EDGE_ROUTE],
  },
  {
    name: 'telemetry node',
    proxy: true as const,
    limited: [{ ...MIDDLEWARE, runtime: 'nodejs' }],
  },
]

describe.each(VARIANTS)('a built Next.js app, $name:', ({ name, proxy, limited }) => {
  let local: LocalServer
  let receiver: Awaited<ReturnType<typeof startReceiver>>
  let app: RunningApp
  let setUp: SetUp

  beforeAll(async () => {
    const built = await build({ name, ...(proxy && { proxy }), prepare: instrument })
    local = await startLocal({ redisUrl: inject('redisUrl') })
    receiver = await startReceiver()
    app = await start(built, {
      UPSTASH_REDIS_REST_URL: local.url,
      UPSTASH_REDIS_REST_TOKEN: local.token,
      OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
      OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
    })
    const { buildId } = built
    setUp = {
      url: app.url,
      basePath: '',
      trailingSlash: false,
      buildId,
      secret: undefined,
      storeRequests: () => local.requests,
    }
  })

  afterAll(async () => {
    await app?.stop()
    await receiver?.close()
    await local?.close()
  })

  describe.each(limited)('$route on $runtime', ({ path, route, runtime }) => {
    let tenant: Tenant

    beforeAll(() => {
      tenant = newTenant(setUp, 'one')
    })

    const checks = (): readonly ReceivedSpan[] =>
      receiver.spans.filter(
        (span) =>
          span.name === 'rate_limiter.check' && span.attributes['rate_limiter.route'] === route,
      )

    const names = (): string[] =>
      receiver.points
        .filter(({ value, resource }) => value > 0 && resource['vercel.runtime'] === runtime)
        .map(({ name: metric, attributes }) => `${metric} ${described(attributes)}`)

    it('exports the span of each decision, with its attributes', async () => {
      expect((await tenant.ask(path)).status).toBe(200)
      expect((await tenant.ask(path)).status).toBe(429)
      await vi.waitFor(() => expect(checks()).toHaveLength(2), PATIENTLY)
      const id = createHash('sha256').update(String(tenant.headers['x-tenant'])).digest('hex')
      const common = {
        'rate_limiter.policies': ['limit'],
        'rate_limiter.policy': 'limit',
        'rate_limiter.limit': 1,
        'rate_limiter.remaining': 0,
        'rate_limiter.source': 'store',
        'rate_limiter.degraded': false,
        'rate_limiter.plan': 'one',
        'rate_limiter.partition.tenant': id.slice(0, 16),
      }
      expect(checks().map(({ attributes }) => attributes)).toEqual([
        expect.objectContaining({ ...common, 'rate_limiter.outcome': 'allowed' }),
        expect.objectContaining({
          ...common,
          'rate_limiter.outcome': 'denied',
          'rate_limiter.retry_after_ms': expect.any(Number),
        }),
      ])
    })

    it('has the span of Next.js for the request as its parent', () => {
      for (const { traceId, parentSpanId } of checks()) {
        const parent = receiver.spans.find(({ spanId }) => spanId === parentSpanId)
        expect(parent?.traceId).toBe(traceId)
        expect(parent?.attributes['next.span_type']).toBeTypeOf('string')
      }
    })

    it('exports the metrics', async () => {
      await vi.waitFor(
        () =>
          expect(names()).toEqual(
            expect.arrayContaining([
              `rate_limiter.decisions ${route} allowed`,
              `rate_limiter.decisions ${route} denied`,
              'rate_limiter.store.duration check',
            ]),
          ),
        PATIENTLY,
      )
    })
  })

  it('prints no error', () => {
    expect(app.output()).not.toMatch(/sluice|error|unhandled/i)
  })
})
