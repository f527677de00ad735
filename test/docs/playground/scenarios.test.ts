import { describe, expect, it } from 'vitest'
import { decisionsCsv } from '../../../apps/site/playground/engine/decisions-csv.ts'
import { EXAMPLES } from '../../../apps/site/playground/engine/examples.ts'
import type { Run } from '../../../apps/site/playground/engine/recording.ts'
import {
  policyForm,
  trafficForm,
  useForm,
  type Scenario,
} from '../../../apps/site/playground/engine/scenario.ts'
import { prepare, simulate } from '../../../apps/site/playground/engine/simulate.ts'

const runOf = async (scenario: Scenario): Promise<Run> => simulate(await prepare(scenario))

const example = (title: string): Scenario => {
  const found = EXAMPLES.find((one) => one.title === title)
  if (!found) throw new Error(`no example "${title}"`)
  return found.scenario
}

async function counts(title: string): Promise<[allowed: number, denied: number]> {
  const { steps } = await runOf(example(title))
  const allowed = steps.filter((step) => step.allowed).length
  return [allowed, steps.length - allowed]
}

it('a tenant has an answer for each reason of a policy', async () => {
  const { denials } = await runOf(example('Credits that run out'))
  const reasons = denials
    .filter(({ tenant, decision }) => tenant === 'acme' && decision.violated?.name === 'credits')
    .map(({ decision }) => decision.reason)
  expect(reasons.toSorted()).toEqual(['concurrency_exceeded', 'credits_exhausted'])
})

it('clients that wait for Retry-After ask less in vain, and get more', async () => {
  const soon = await counts('A retry storm that waits for nothing')
  const waits = await counts('The same storm with Retry-After')
  expect(waits[0]).toBeGreaterThan(soon[0])
  expect(waits[1]).toBeLessThan(soon[1] / 3)
})

it('each of many calls in flight gives back what it has not used', async () => {
  const { steps } = await runOf({
    policies: [policyForm('budget', { daily: '100000', monthly: '' })],
    traffic: trafficForm('steady', { tenants: '1', perMinute: '12000', lasts: '1m' }),
    use: useForm({ estimatedDollars: '1', usedDollars: '0', seconds: '600' }),
    seed: '1',
  })
  expect(steps.length).toBeGreaterThan(11_000)
  expect(steps.filter(({ settled }) => settled?.returned['usd'] !== 1e6)).toEqual([])
})

it('the decisions that are saved have the wait of each', async () => {
  const run = await runOf(example('Requests that wait their turn'))
  const [head = '', ...rows] = decisionsCsv(run).trim().split('\r\n')
  const column = head.split(',').indexOf('wait_ms')
  const waits = rows.map((row) => Number(row.split(',')[column]))
  expect(waits).toEqual(run.steps.map(({ delayMs }) => delayMs))
  expect(Math.max(...waits)).toBeGreaterThan(1_000)
})

describe('a time may be written', () => {
  const base = { traffic: trafficForm('steady'), use: useForm(), seed: '1' }
  it.each([
    ['in milliseconds', 'window', { window: '60000' }, 'window: 60_000'],
    ['as no wait', 'leaky', { wait: '0s' }, 'wait: false'],
    ['as no wait, without a unit', 'leaky', { wait: '0' }, 'wait: false'],
  ] as const)('%s', async (_, kind, texts, printed) => {
    const { code } = await prepare({ ...base, policies: [policyForm(kind, texts)] })
    expect(code).toContain(printed)
  })

  it.each(['0s', '0'])('as at once: %s', async (begins) => {
    const traffic = trafficForm('runaway', { begins, lasts: '120000' })
    const { arrivals } = (await prepare({ ...base, policies: [policyForm('window')], traffic }))
      .traffic
    expect(arrivals.find(({ tenant }) => tenant === 'runaway')).toMatchObject({ at: 0 })
    expect(arrivals.at(-1)?.at).toBeGreaterThan(119_000)
  })
})
