import { budget, definePrices, modelLimits, modelPolicies } from '@sluice/ai'
import { createLimiter, manualClock, type Limiter, type Policy } from '@sluice/core'
import { memory } from '@sluice/core/memory'
import { describe, expect, it } from 'vitest'
import { NOON } from '../../support/times.ts'
import { answered, callBy, DOORS, PRICES, QUESTION, type Called } from './ladder.ts'

const limiterWith = (...policies: Policy[]): Limiter =>
  createLimiter({ store: memory(), clock: manualClock(NOON), policies })

/** A call of `large` may cost some $0.01, one of `middle` $0.002, one of `small` $0.001. */
const limiterOf = (microDollars: number): Limiter =>
  limiterWith(
    ...modelPolicies({ per: ['tenant'], rpm: 100, inFlight: 5 }),
    budget({ daily: microDollars, per: ['tenant'] }),
  )

const ONE = { rpm: 1 }

const modelsOf = ({ sent }: Called): string[] => sent.map(({ model }) => model)

describe.each(Object.keys(DOORS))('%s', (door) => {
  it.each([
    [20_000, 'large'],
    [5_000, 'middle'],
    [1_500, 'small'],
  ])('with %i micro-dollars left, calls %s, the best that fits', async (left, model) => {
    const { sent, told, result } = await callBy(door, {
      limiter: limiterOf(left),
      answer: answered,
    })
    expect(sent).toEqual([{ model, most: 1_000 }])
    expect(result).toMatchObject({ status: 200, model })
    const isOther = model !== 'large'
    expect(result.headers.get('x-sluice-model')).toBe(
      isOther && door !== 'limitedModel' ? model : null,
    )
    expect(told.map(({ asked, used }) => [asked, used])).toEqual(isOther ? [['large', model]] : [])
  })

  it('is denied where no model has room, for the one that fits soonest', async () => {
    const { sent, told, result } = await callBy(door, {
      limiter: limiterOf(1_000),
      answer: answered,
    })
    expect([sent, result.status]).toEqual([[], 429])
    const [{ decision, used } = { decision: undefined }] = told
    expect(used).toBeUndefined()
    expect(decision?.tried?.map(({ violated }) => violated?.name)).toContain('budget.daily')
  })

  it('takes the next model where the requests of the first are used up', async () => {
    const limits = modelLimits({
      models: { large: ONE, middle: ONE, small: ONE },
      otherModels: { rpm: 100 },
      per: ['tenant', 'model'],
    })
    const limiter = limiterWith(...limits.policies)
    const models: unknown[] = []
    for (let call = 0; call < 4; call += 1) {
      const { result } = await callBy(door, { limiter, answer: answered })
      models.push(result.status === 200 ? result.model : result.status)
    }
    expect(models).toEqual(['large', 'middle', 'small', 429])
  })

  it('shortens an answer only where no model has room for a usual one', async () => {
    const options = { usualOutput: 1_000, minOutput: 100 }
    // Half an answer of the first would fit, too.
    const one = await callBy(door, { limiter: limiterOf(5_000), answer: answered, options })
    expect(one.sent).toEqual([{ model: 'middle', most: 1_000 }])
    const other = await callBy(door, { limiter: limiterOf(1_000), answer: answered, options })
    expect(other.sent).toMatchObject([{ model: 'middle' }])
    expect(other.sent[0]?.most).toBeLessThan(500)
  })

  it('skips a model that may cost more than one before it, unless the list allows it', async () => {
    const prices = definePrices(
      { middle: { input: 2_000_000, output: 20_000_000 } },
      { base: PRICES },
    )
    const limits = modelLimits({
      models: { large: ONE },
      otherModels: { rpm: 100 },
      per: ['tenant', 'model'],
    })
    const call = async (list: readonly (string | { model: string; mayCostMore: boolean })[]) => {
      const limiter = limiterWith(...limits.policies)
      await callBy(door, { limiter, answer: answered, list, options: { prices } })
      return callBy(door, { limiter, answer: answered, list, options: { prices } })
    }
    const skips = await call(['middle', 'small'])
    expect(modelsOf(skips)).toEqual(['small'])
    expect(skips.told[0]?.skipped).toEqual([
      {
        model: 'middle',
        reason: expect.stringMatching(
          /^may cost \$0\.02\d* for this call, and a model before it \$0\.01\d*$/,
        ),
      },
    ])
    expect(modelsOf(await call([{ model: 'middle', mayCostMore: true }, 'small']))).toEqual([
      'middle',
    ])
  })
})

const HTTP_DOORS = Object.keys(DOORS).filter((door) => door !== 'limitedModel')

describe.each(HTTP_DOORS)('%s', (door) => {
  it('skips a model that cannot take a field of the call, and says so', async () => {
    const names = { 'gpt-4o': 10, 'o3-mini': 5, 'gpt-4o-mini': 1 }
    const prices = definePrices(
      Object.fromEntries(
        Object.entries(names).map(([name, dollars]) => [
          name,
          { input: dollars * 100_000, output: dollars * 1_000_000 },
        ]),
      ),
    )
    const { sent, told } = await callBy(door, {
      limiter: limiterOf(5_500),
      answer: answered,
      list: ['o3-mini', 'gpt-4o-mini'],
      options: { prices },
      body: { ...QUESTION, model: 'gpt-4o', stop: ['.'] },
    })
    expect(sent).toMatchObject([{ model: 'gpt-4o-mini' }])
    expect(told[0]?.skipped).toEqual([
      { model: 'o3-mini', reason: expect.stringContaining('o3-mini cannot take the field stop') },
    ])
  })
})
