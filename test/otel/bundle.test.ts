import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { bundle } from '../support/bundle.ts'
import { tableOf } from '../support/markdown.ts'

const filesOf = async (contents: string): Promise<readonly string[]> =>
  (await bundle(contents)).inputs

it('telemetry() brings OpenTelemetry’s API and no SDK into a Worker', async () => {
  const files = await filesOf(
    `export { telemetry, modelTelemetry, timedFetch } from '@sluice/otel'`,
  )
  const allowed = /^(packages\/(core|otel)\/dist\/|node_modules\/@opentelemetry\/api\/)/
  expect(files.filter((file) => !allowed.test(file))).toEqual([])
})

it('prometheus() brings no OpenTelemetry, and counters in Redis only if series are shared', async () => {
  const alone = await filesOf(
    `export { prometheus, metricsHandler } from '@sluice/otel/prometheus'`,
  )
  expect(alone.filter((file) => !/^packages\/(core|otel)\/dist\//.test(file))).toEqual([])
  const shared = await filesOf(`export { sharedSeries } from '@sluice/otel/shared-series'`)
  const counters = /^packages\/(core|otel|usage)\/dist\//
  expect(shared.filter((file) => !counters.test(file))).toEqual([])
})

const page = readFileSync(new URL('../../docs/observability.md', import.meta.url), 'utf8')
const LIMITER = `export { createLimiter, slidingWindow, defineExtension } from '@sluice/core'
  export { upstash } from '@sluice/core/upstash';`

it.each([...tableOf(page, 'added to a limiter')])(
  '%s adds to a limiter as much as the page states',
  async (name, row) => {
    const isApi = name === 'OpenTelemetry’s API'
    const size = async (more: string): Promise<number> =>
      (await bundle(LIMITER + more, isApi ? [] : ['@opentelemetry/api'])).gzipped
    const added = isApi
      ? `export { context, metrics, trace } from '@opentelemetry/api'`
      : `export { ${name.replaceAll('`', '').replace('()', '')} } from '@sluice/otel'`
    const bytes = (await size(added)) - (await size(''))
    const stated = Number(row['kB, gzipped']) * 1_000
    expect(bytes).toBeLessThanOrEqual(stated)
    expect(bytes).toBeGreaterThan(stated - 200)
  },
)
