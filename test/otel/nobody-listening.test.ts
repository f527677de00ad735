import { Session } from 'node:inspector/promises'
import { fixedWindow, listen, type Extension } from '@sluice/core'
import { reserve } from '@sluice/core/reservations'
import { telemetry } from '@sluice/otel'
import { describe, expect, it } from 'vitest'
import { ACME, setUp } from '../support/limiters.ts'
import { startSdk } from './support.ts'

const policies = [fixedWindow({ name: 'rpm', limit: 1_000, window: '1m', per: ['tenant'] })]

/** Counts the calls of functions in these files, while a limiter decides 100 times. */
async function callsOf(files: RegExp, extensions: readonly Extension[]): Promise<number> {
  const { limiter } = setUp(policies, { extensions })
  const session = new Session()
  session.connect()
  await session.post('Profiler.enable')
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
  for (let count = 0; count < 100; count += 1) {
    await limiter.check(ACME)
    const call = await reserve(limiter, ACME)
    if (call.allowed) await call.settle(0)
  }
  const { result } = await session.post('Profiler.takePreciseCoverage')
  session.disconnect()
  return (
    result
      .filter(({ url }) => files.test(url))
      .flatMap(({ functions }) => functions)
      // A module itself is a function without a name.
      .filter(({ functionName }) => functionName !== '')
      .reduce((sum, { ranges }) => sum + (ranges[0]?.count ?? 0), 0)
  )
}

const SEAM = /core\/dist\/limiter\/seam\.js$/
const REPORTING =
  /packages\/otel\/dist\/|core\/dist\/limiter\/(seam|listen|define-extension|guard-before)\.js$/

describe('with nobody listening', () => {
  // The seam makes the events of decisions, so without a call to it there is none.
  it('no function that reports is called, and no event is made', async () => {
    expect(await callsOf(REPORTING, [])).toBe(0)
  })

  it('the count would see one', async () => {
    expect(await callsOf(SEAM, [listen({ decision: () => {} })])).toBeGreaterThan(200)
    expect(await callsOf(/packages\/otel\/dist\//, [telemetry()])).toBeGreaterThan(200)
  })
})

describe('telemetry() without an SDK', () => {
  const DESCRIBING = /packages\/otel\/dist\/(decision-span|decision-facts|partition|bounded)\.js$/

  it('hashes no partition, and makes no attribute and no label', async () => {
    expect(await callsOf(DESCRIBING, [telemetry()])).toBe(0)
  })

  it('the count would see them', async () => {
    const { tracerProvider, meterProvider, stop } = startSdk()
    const traced = telemetry({ tracerProvider })
    expect(await callsOf(DESCRIBING, [traced])).toBeGreaterThan(200)
    const counted = telemetry({ meterProvider })
    expect(await callsOf(DESCRIBING, [counted])).toBeGreaterThan(200)
    await stop()
  })
})
