import { createRequire } from 'node:module'
import * as api from '@opentelemetry/api'
import { fixedWindow } from '@sluice/core'
import { telemetry } from '@sluice/otel'
import { expect, it } from 'vitest'
import { ACME, setUp } from '../support/limiters.ts'
import { startSdk } from './support.ts'

/** Loads a copy of the API of its own, as a bundler makes one for each part of an app. */
function anotherCopy(): typeof api {
  const require = createRequire(import.meta.url)
  for (const path of Object.keys(require.cache)) {
    if (path.includes('/@opentelemetry/api/')) delete require.cache[path]
  }
  return require('@opentelemetry/api') as typeof api
}

it('an SDK is found that another copy of the API registers after the first decision', async () => {
  const rpm = fixedWindow({ name: 'rpm', limit: 10, window: '1m', per: ['tenant'] })
  const { limiter } = setUp([rpm], { extensions: [telemetry()] })
  await limiter.check(ACME)
  const sdk = startSdk()
  const copy = anotherCopy()
  expect(copy.trace).not.toBe(api.trace)
  copy.trace.setGlobalTracerProvider(sdk.tracerProvider)
  copy.metrics.setGlobalMeterProvider(sdk.meterProvider)
  try {
    await limiter.check(ACME)
    expect(sdk.spans().map(({ name }) => name)).toEqual(['rate_limiter.check'])
    expect(await sdk.counts('rate_limiter.decisions')).toEqual({ 'outcome=allowed': 1 })
  } finally {
    copy.trace.disable()
    copy.metrics.disable()
    await sdk.stop()
  }
})
