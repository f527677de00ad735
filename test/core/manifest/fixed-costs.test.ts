import { describe, expect, it } from 'vitest'
import { loosely } from './support.ts'

const rpm = { algorithm: 'fixedWindow', name: 'rpm', limit: 2, window: '1h', per: ['tenant'] }
const bucket = { ...rpm, algorithm: 'tokenBucket', name: 'bucket' }
const inFlight = { algorithm: 'concurrency', name: 'calls', limit: 2, per: ['tenant'] }
const tokens = { ...rpm, name: 'tpm', unit: 'token' }
const manifest =
  (fields: object): (() => unknown) =>
  () =>
    loosely({ routes: ['/a'], ...fields })
const route = (fields: object, more: object = {}) =>
  manifest({ policies: [rpm, bucket], routes: ['/a', { path: '/b', ...fields }], ...more })
const withCost = (cost: unknown, more: object = {}) =>
  route({ cost, ...more }, { policies: [rpm, tokens] })

const beside = (cost: unknown, policies: unknown[]) => route({ cost }, { policies })

describe('a fixed cost', () => {
  it.each([
    ['a number', 5],
    ['an object', { request: 5 }],
  ])('must have each unit that is counted on its route: %s', (_, cost) => {
    expect(withCost(cost)).toThrow(
      'manifest.routes[1].cost: must name the unit "token", which the policy "tpm" counts on the route "/b"',
    )
  })

  it('of all routes is named by its own path', () => {
    expect(manifest({ policies: [rpm], defaults: { cost: { x: 1 } } })).toThrow(
      'manifest.defaults.cost: must not name the unit "x", which no policy counts',
    )
  })

  it('needs no unit that is not counted on its route', () => {
    expect(withCost(5, { overrides: { tpm: false } })).not.toThrow()
  })

  it('needs no calls, which are 1 like requests, and must not have uncounted ones', () => {
    expect(beside({ request: 5 }, [rpm, inFlight])).not.toThrow()
    expect(beside({ call: 2 }, [rpm, inFlight])).not.toThrow()
    expect(beside({ call: 2 }, [rpm])).toThrow(
      'must not name the unit "call", which no policy counts',
    )
  })

  it('may be left to the adapter, or to a function', async () => {
    expect(withCost(undefined)).not.toThrow()
    expect(withCost(() => 1)).not.toThrow()
  })
})
