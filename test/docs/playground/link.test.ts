import { describe, expect, it } from 'vitest'
import { linkOf, readLink } from '../../../apps/site/playground/engine/link.ts'
import { POLICY_KINDS, type PolicyName } from '../../../apps/site/playground/engine/policies.ts'
import {
  policyForm,
  trafficForm,
  useForm,
  type Scenario,
} from '../../../apps/site/playground/engine/scenario.ts'
import { prepare, simulate } from '../../../apps/site/playground/engine/simulate.ts'
import { TRAFFIC_KINDS, type TrafficName } from '../../../apps/site/playground/engine/traffic.ts'

const PAIRS = (Object.keys(POLICY_KINDS) as PolicyName[]).flatMap((policy) =>
  (Object.keys(TRAFFIC_KINDS) as TrafficName[]).map((traffic) => ({ policy, traffic })),
)

const scenarioOf = (policy: PolicyName, traffic: TrafficName): Scenario => ({
  policies: [policyForm(policy), policyForm('daily', { limit: '77' })],
  traffic: trafficForm(traffic),
  use: useForm({ seconds: '7' }),
  seed: '42',
})

it.each(PAIRS)(
  'a link keeps $policy with $traffic, and shows the same',
  async ({ policy, traffic }) => {
    const scenario = scenarioOf(policy, traffic)
    const read = await readLink(linkOf(scenario))
    expect(read).toEqual(scenario)
    const runs = await Promise.all(
      [scenario, read].map(async (one) => simulate(await prepare(one))),
    )
    expect(runs[0]?.steps.length).toBeGreaterThan(3)
    expect(JSON.stringify(runs[1])).toBe(JSON.stringify(runs[0]))
  },
)

it('a link keeps texts that have its own marks', async () => {
  const scenario = scenarioOf('window', 'steady')
  const odd = { ...scenario, policies: [policyForm('window', { window: ' a&b=c#d+e "é" ' })] }
  expect(await readLink(linkOf(odd))).toEqual(odd)
})

it('a link leaves out a log of the reader', async () => {
  const own = { ...scenarioOf('window', 'log'), traffic: trafficForm('log', { log: 'secret' }) }
  const kept = linkOf(own)
  expect(kept).not.toContain('secret')
  expect(await readLink(kept)).toEqual({ ...own, traffic: trafficForm('log', { log: '' }) })
})

it('a link keeps the mistake of each field, and of the seed', async () => {
  const wrong: Scenario = {
    policies: [policyForm('window', { limit: '-1' })],
    traffic: trafficForm('steady', { lasts: 'long' }),
    use: useForm({ seconds: '' }),
    seed: 'x',
  }
  expect(await readLink(linkOf(wrong))).toEqual(wrong)
})

it('a link has the fields of its last kind of traffic only', async () => {
  const link = 'policy=window&traffic=steady&traffic.perMinute=9&traffic=burst'
  const read = await readLink(link)
  expect(read.traffic).toEqual(trafficForm('burst'))
  expect(await readLink(linkOf(read))).toEqual(read)
})

it('a seed is another history of the same traffic', async () => {
  const runs = await Promise.all(
    ['1', '2'].map(async (seed) =>
      simulate(await prepare({ ...scenarioOf('window', 'steady'), seed })),
    ),
  )
  expect(runs[0]?.steps).not.toEqual(runs[1]?.steps)
})

describe('a link that is broken names the part and what is allowed', () => {
  it.each([
    ['', 'link.policy: must be there 1 to 6 times'],
    ['policy=windw&traffic=steady', 'link.policy: must be one of "window", "counter"'],
    ['policy=window', 'link.traffic: must be one of "steady", "burst"'],
    ['policy=window&traffic=none', 'link.traffic: must be one of "steady", "burst"'],
    [
      'policy=window&policy.limt=3&traffic=steady',
      'link.policy.limt: is no field of it; expected "limit", "window"',
    ],
    ['policy.limit=3&policy=window&traffic=steady', 'link.policy.limit: must follow the policy'],
    ['policy=window&traffic=steady&speed=3', 'link.speed: must be a policy, traffic, use or seed'],
    ['policy=window&traffic=steady&use.__proto__=3', 'link.use.__proto__: is no field of it'],
  ])('%s', async (link, message) => {
    await expect(readLink(link)).rejects.toThrow(message)
  })
})
