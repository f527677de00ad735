/* Each door in front of a balance: after each end of a call, what is available is what was granted less what it cost. */
import { usd } from '@sluice/ai'
import { balance, type Balance } from '@sluice/core/credits'
import { release } from '@sluice/core/reservations'
import { describe, expect, it } from 'vitest'
import { lawfulBalance } from '../../support/balance-law.ts'
import { ACME } from '../../support/limiters.ts'
import { HOUR } from '../../support/times.ts'
import { costOf, creditsOf, GRANTED } from '../credits.ts'
import { answered, callBy, DOORS, refused, type DoorTerms } from '../fallback/ladder.ts'

/** The end of a call: the answer, and its cost; `'all'` if the estimate is kept. */
interface End {
  readonly answer: DoorTerms['answer']
  readonly cost: number | 'all'
  readonly options?: DoorTerms['options']
}

const breakOff = (): never => {
  throw new TypeError('terminated')
}

const ENDS: Readonly<Record<string, End>> = {
  'answered, for less than was held': { answer: answered, cost: costOf(50) },
  'answered, for more than there was': {
    answer: (sent) => answered(sent, 5_000),
    cost: costOf(5_000),
  },
  'refused by the provider': { answer: () => refused(500), cost: 0 },
  'answered without a usage': { answer: () => Response.json({ choices: [] }), cost: 'all' },
  'broken off': { answer: breakOff, cost: 'all' },
  'held until it is given back': {
    answer: answered,
    cost: costOf(50),
    options: { unsettled: release() },
  },
}

const CASES = Object.keys(DOORS).flatMap((door) =>
  Object.keys(ENDS).flatMap((end) =>
    (['keep', 'release'] as const).map((unsettled) => [door, end, unsettled] as const),
  ),
)

describe.each(CASES)('%s, %s, %s', (door, name, unsettled) => {
  const { answer, cost, options = {} } = ENDS[name] as End

  it('costs what the list says', async () => {
    const { limiter } = await creditsOf(GRANTED, unsettled)
    let [held, left] = [0, 0]
    await callBy(door, {
      limiter,
      list: [],
      options,
      answer: async (sent) => {
        ;({ held, available: left } = await lawfulBalance(limiter))
        return answer(sent)
      },
    }).catch(() => undefined)
    expect(left).toBe(GRANTED - held)
    // A thousand tokens of output, and some of input.
    expect(held).toBeGreaterThan(10_000)
    const spent = cost === 'all' ? held : cost
    expect(await lawfulBalance(limiter)).toMatchObject({
      balance: GRANTED - spent,
      available: Math.max(0, GRANTED - spent),
      debt: Math.max(0, spent - GRANTED),
      held: 0,
      totals: { settled: spent },
    })
  })

  it('costs the same if it ends after its time', async () => {
    const { limiter, clock } = await creditsOf(GRANTED, unsettled)
    let held = 0
    let overdue: Partial<Balance> = {}
    await callBy(door, {
      limiter,
      list: [],
      options: { ...options, settleWithin: '1h' },
      answer: async (sent) => {
        held = (await balance(limiter, ACME)).held
        clock.advance(2 * HOUR)
        overdue = await lawfulBalance(limiter)
        return answer(sent)
      },
    }).catch(() => undefined)
    const abandoned = unsettled === 'release' ? 0 : held
    expect(overdue).toMatchObject({ available: GRANTED - abandoned, abandoned })
    const spent = cost === 'all' ? held : cost
    expect(await lawfulBalance(limiter)).toMatchObject({
      balance: GRANTED - spent,
      held: 0,
      abandoned: 0,
      totals: { settled: spent },
    })
  })
})

describe.each(Object.keys(DOORS))('%s', (door) => {
  it('is denied before the call if the balance has too little, which changes nothing', async () => {
    for (const amount of [0, usd(0.001)]) {
      const { limiter } = await creditsOf(amount)
      const before = await lawfulBalance(limiter)
      const { sent, result } = await callBy(door, { limiter, list: [], answer: answered })
      expect([sent, result.status]).toEqual([[], 429])
      expect(await lawfulBalance(limiter)).toEqual(before)
    }
  })

  it('sends as many tokens of output as there are credits for', async () => {
    const { limiter } = await creditsOf(5_050)
    const { sent } = await callBy(door, {
      limiter,
      list: [],
      options: { minOutput: 100 },
      answer: (one) => answered(one, one.most),
    })
    expect(sent[0]?.most).toBeGreaterThan(450)
    expect(await lawfulBalance(limiter)).toMatchObject({
      available: 5_050 - costOf(sent[0]?.most ?? 0),
      debt: 0,
    })
  })

  it('calls the best model that there are credits for', async () => {
    const { limiter } = await creditsOf(5_000)
    const { sent } = await callBy(door, { limiter, answer: answered })
    expect(sent.map(({ model }) => model)).toEqual(['middle'])
    expect(await lawfulBalance(limiter)).toMatchObject({ available: 5_000 - costOf(50, 'middle') })
  })

  it('charges the model alone that has answered', async () => {
    const { limiter } = await creditsOf(GRANTED)
    const { sent } = await callBy(door, {
      limiter,
      answer: (one) => (one.model === 'large' ? refused(503) : answered(one)),
    })
    expect(sent.map(({ model }) => model)).toEqual(['large', 'middle'])
    expect(await lawfulBalance(limiter)).toMatchObject({
      available: GRANTED - costOf(50, 'middle'),
      held: 0,
    })
  })
})
