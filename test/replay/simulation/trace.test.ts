import { slidingWindow } from '@sluice/core'
import { expect, it } from 'vitest'
import { readTrace } from '../../trace/trace.ts'
import { azureTrace } from './azure-trace.ts'
import { replayText } from '../support.ts'

const RPM = 30
const TPM = 50_000

it('denies the calls of the Azure trace that a few lines of arithmetic deny', async () => {
  const rows = readTrace()
  const windows = new Map<string, { at: number; tokens: number }[]>()
  const expected = { calls: 0, tokens: 0, tenants: {} as Record<string, number> }
  for (const { at, tenant, tokens } of rows) {
    const recent = (windows.get(tenant) ?? []).filter((call) => call.at > at - 60_000)
    const used = recent.reduce((sum, call) => sum + call.tokens, 0)
    if (recent.length + 1 <= RPM && used + tokens <= TPM) recent.push({ at, tokens })
    else {
      expected.calls += 1
      expected.tokens += tokens
      expected.tenants[tenant] = (expected.tenants[tenant] ?? 0) + 1
    }
    windows.set(tenant, recent)
  }

  const policies = [
    slidingWindow({ name: 'rpm', limit: RPM, window: '1m', per: ['tenant'] }),
    slidingWindow({ name: 'tpm', unit: 'token', limit: TPM, window: '1m', per: ['tenant'] }),
  ]
  const log = { tenants: 200, seed: 20_231_116 }
  const { sets, log: facts } = await replayText(azureTrace(rows), { policies }, { log })

  expect(facts).toMatchObject({ used: { calls: 19_366, tokens: 26_450_535 }, tenants: 200 })
  const [set] = sets
  expect(set?.denied).toMatchObject({ calls: expected.calls, tokens: expected.tokens })
  const denied = set?.tenants.map(({ tenant, denied: { calls } }) => [tenant, calls])
  expect(Object.fromEntries(denied ?? [])).toEqual(expected.tenants)
  expect(expected.calls).toBeGreaterThan(1_000)
})
