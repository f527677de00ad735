import { budgetBelow, limitedModel, usd } from '@sluice/ai'
import {
  createLimiter,
  dailyCap,
  manualClock,
  sessionWindow,
  slidingWindow,
  type Limiter,
  type Store,
} from '@sluice/core'
import { memory } from '@sluice/core/memory'
import { describe, expect, it } from 'vitest'
import { mistakesAreNamed, type Mistake } from '../../support/mistakes.ts'
import { NOON } from '../../support/times.ts'
import { PRICES } from '../doors.ts'
import { VERSIONS } from '../sdk-versions.ts'

const RUN = { tenant: 'acme', run: 'r1' }
const unit = 'usd'

/** A limiter of two cents a run, a dollar a day and 60 requests a minute. */
const limiterOf = (store: Store = memory()): Limiter =>
  createLimiter({
    store,
    clock: manualClock(NOON),
    onStoreError: 'deny',
    policies: [
      dailyCap({ name: 'daily', limit: usd(1), unit, per: ['tenant'] }),
      sessionWindow({ name: 'run', limit: usd(0.02), unit, per: ['run'], idle: '30m' }),
      slidingWindow({ name: 'rpm', limit: 60, window: '1m', per: ['tenant'] }),
    ],
  })

/** The micro-dollars that the run has spent. */
async function spent(limiter: Limiter): Promise<number> {
  const { policies } = await limiter.peek(RUN, { cost: { usd: 0 } })
  return usd(0.02) - (policies.find(({ name }) => name === 'run')?.remaining ?? 0)
}

interface Run {
  readonly text: string
  readonly finishReason: string
  readonly steps: readonly unknown[]
}

describe.each(Object.entries(VERSIONS))('an agent of %s', (_, { sdk, model: makeModel }) => {
  const generate = sdk.generateText as (options: object) => Promise<Run>
  const tools = {
    look: (sdk.tool as (options: object) => unknown)({
      inputSchema: sdk.jsonSchema({ type: 'object', properties: {} }),
      execute: () => 'nothing',
    }),
  }

  /** Starts an agent of up to 30 steps. Each costs 600 micro-dollars and may cost 6,000. */
  function agentOf(limiter: Limiter, options: object): Promise<Run> {
    const model = limitedModel(makeModel(), limiter, {
      subject: RUN,
      prices: PRICES,
      maxOutput: 500,
    })
    return generate({ model, prompt: 'Go on.', tools, stopWhen: sdk.stepCountIs(30), ...options })
  }

  it('fails at the budget of its run if it does not stop before', async () => {
    await expect(agentOf(limiterOf(), {})).rejects.toMatchObject({
      name: 'ModelCallDenied',
      decision: { violated: { name: 'run' } },
    })
  })

  it('stops with all of its steps when the next one may not fit', async () => {
    const limiter = limiterOf()
    const stopWhen = [sdk.stepCountIs(30), budgetBelow(limiter, RUN, { usd: 6_000 })]
    const { steps, finishReason } = await agentOf(limiter, { stopWhen })
    // After 24 steps 5,600 are left, which is less than a step may cost.
    expect([steps.length, finishReason]).toEqual([24, 'tool-calls'])
    expect(await spent(limiter)).toBe(24 * 600)
  })

  it('gives a final answer with what is left when it may no longer call tools', async () => {
    const limiter = limiterOf()
    const isLow = budgetBelow(limiter, RUN, { usd: 2 * 6_000 })
    const prepareStep = async () => ((await isLow()) ? { toolChoice: 'none' } : {})
    const { steps, text, finishReason } = await agentOf(limiter, { prepareStep })
    // After 14 steps 11,600 are left, which is less than two steps may cost: the 15th answers.
    expect([steps.length, finishReason, text]).toEqual([15, 'stop', 'That is all.'])
    expect(await spent(limiter)).toBe(15 * 600)
  })
})

describe('budgetBelow', () => {
  it('charges nothing, and compares to the unit', async () => {
    const limiter = limiterOf()
    await limiter.check(RUN, { cost: { usd: usd(0.015) } })
    for (const [amount, isLow] of [
      [5_000, false],
      [5_001, true],
      [5_000, false],
    ] as const) {
      expect(await budgetBelow(limiter, RUN, { usd: amount })()).toBe(isLow)
    }
  })

  it('looks at every budget that counts the unit, and at no other', async () => {
    const limiter = limiterOf()
    const isLow = budgetBelow(limiter, RUN, { usd: usd(0.01) })
    for (let time = 0; time < 60; time += 1) await limiter.check(RUN, { cost: { usd: 0 } })
    expect((await limiter.check(RUN, { cost: { usd: 0 } })).violated?.name).toBe('rpm')
    expect(await isLow()).toBe(false)
    const others = { tenant: 'acme', run: 'r2' }
    const spending = { request: 0, usd: usd(0.02) }
    for (let run = 0; run < 50; run += 1) {
      await limiter.check({ ...others, run: `other-${run}` }, { cost: spending })
    }
    // The run has spent nothing, but its tenant has spent the day's dollar.
    expect(await isLow()).toBe(true)
  })

  it('is true if the limiter denies because its store fails', async () => {
    const broken = { ...memory(), check: () => Promise.reject(new Error('down')) }
    expect(await budgetBelow(limiterOf(broken), RUN, { usd: 1 })()).toBe(true)
  })
})

const below = (amounts: unknown) => budgetBelow(limiterOf(), RUN, amounts as { usd: number })
const MISTAKES: Mistake[] = [
  ['no amounts', () => below(undefined), 'budgetBelow'],
  ['a number', () => below(usd(0.05)), 'budgetBelow'],
  ['no unit', () => below({}), 'budgetBelow'],
  ['a unit that no policy counts', () => below({ token: 1 }), 'budgetBelow.token'],
  ['dollars', () => below({ usd: 0.05 }), 'budgetBelow.usd'],
  ['nothing', () => below({ usd: 0 }), 'budgetBelow.usd'],
]
describe('mistakes in what may be left are named:', () => {
  mistakesAreNamed(MISTAKES)
})
