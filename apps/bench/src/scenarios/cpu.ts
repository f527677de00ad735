import { createLimiter, listen, type Cost, type Extension, type Policy } from '@sluice/core'
import { upstash } from '@sluice/core/upstash'
import { telemetry } from '@sluice/otel'
import { prometheus } from '@sluice/otel/prometheus'
import type { Bench, Scenario } from './scenario.ts'
import type { Row } from '../measure/row.ts'
import { BUDGET_COST, dailyAndWindow, hourly, sixPolicies, tenants } from '../limits.ts'
import { cpuMicroseconds, interleave, type Sample } from '../measure/rounds.ts'
import { StoreTap } from '../traffic/record.ts'

const CALLS = 4_000
const TURNS = 5

/** The CPU time of a check in the client, without sending. */
export const cpuScenario: Scenario = {
  name: 'cpu',
  title: 'microseconds of CPU of a check, with a fetch that answers at once',

  async run(bench) {
    const one = await samples(bench, [hourly()])
    const two = await samples(bench, dailyAndWindow())
    const six = await samples(bench, sixPolicies(), { usd: BUDGET_COST })
    const { check: listened } = await samples(bench, dailyAndWindow(), 1, [
      listen({ decision: () => {} }),
    ])
    const { check: traced } = await samples(bench, dailyAndWindow(), 1, [telemetry()])
    const { check: counted } = await samples(bench, dailyAndWindow(), 1, [prometheus()])
    const sides = {
      one: one.check,
      oneFetch: one.fetch,
      two: two.check,
      twoFetch: two.fetch,
      six: six.check,
      sixFetch: six.fetch,
      listened,
      traced,
      counted,
    }
    const cpu = await interleave(bench, sides, TURNS)
    return [
      row('one window', cpu.one, cpu.oneFetch),
      { ...row('daily cap and window', cpu.two, cpu.twoFetch), bar: 8 },
      row('six policies', cpu.six, cpu.sixFetch),
      row('daily cap and window, with a listener', cpu.listened, cpu.twoFetch),
      row('daily cap and window, with telemetry() and no SDK', cpu.traced, cpu.twoFetch),
      row('daily cap and window, with prometheus()', cpu.counted, cpu.twoFetch),
    ]
  },
}

/** Subtracts the microseconds of the fetches from those of the checks of the same round. */
const row = (title: string, checks: readonly number[], fetches: readonly number[]): Row => ({
  title,
  unit: 'µs',
  ours: { values: checks.map((value, round) => value - (fetches[round] ?? Number.NaN)) },
})

/** Samples of a check, and of its `fetch` alone with an equal body. */
async function samples(
  { servers: { url, token } }: Bench,
  policies: Policy[],
  cost: Cost = 1,
  extensions: readonly Extension[] = [],
): Promise<{ check: Sample; fetch: Sample }> {
  const tap = new StoreTap()
  const store = upstash({ url, token, fetch: tap.fetch, timeoutMs: 10_000 })
  const limiter = createLimiter({ store, policies, extensions })
  const tenant = tenants()
  const check = () => limiter.check({ tenant: tenant(), route: 'evaluate', user: 'u1' }, { cost })
  // The first loads the script; the second is like all that follow.
  for (let time = 0; time < 2; time += 1) await check()
  const { lastBody: body } = tap
  tap.freeze()
  const decision = await check()
  if (!decision.allowed || decision.degraded) throw new Error('A canned reply was not taken')
  return {
    check: () => cpuMicroseconds(CALLS, check),
    fetch: () =>
      cpuMicroseconds(CALLS, async () => {
        const response = await tap.fetch(url, { method: 'POST', body })
        await response.text()
      }),
  }
}
