import { expect, it } from 'vitest'
import { measureGateways } from '../../apps/bench/src/scenarios/gateway.ts'
import { startServers } from '../../apps/bench/src/servers/servers.ts'

it.runIf(process.platform === 'linux')(
  'measures a call of each gateway: one trip to the model, and for ours two to the store',
  { timeout: 120_000 },
  async () => {
    await using servers = await startServers()
    const rows = await measureGateways({ servers, rounds: 1 }, 8)
    const trips = rows.filter(({ unit }) => unit === 'trips')
    expect(trips.map(({ title }) => title)).toEqual([
      'JSON: trips over Upstash',
      'JSON: trips with objects',
      'stream: trips over Upstash',
      'stream: trips with objects',
    ])
    for (const { ours, others } of trips) {
      expect(others?.['a plain proxy']?.values).toEqual([1])
      expect(others?.['@portkey-ai/gateway']?.values).toEqual([1])
      // Beside them, keys are looked up again now and then, and usage is saved.
      expect(ours.values[0]).toBeGreaterThanOrEqual(3)
      expect(ours.values[0]).toBeLessThan(6)
    }
  },
)
