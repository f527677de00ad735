import { expect, it } from 'vitest'
import { bundle } from '../support/bundle.ts'

const filesOf = async (contents: string): Promise<readonly string[]> =>
  (await bundle(contents)).inputs

it('telemetry() brings OpenTelemetry’s API and no SDK into a Worker', async () => {
  const files = await filesOf(`export { telemetry, modelTelemetry } from '@sluice/otel'`)
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
