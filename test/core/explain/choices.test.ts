import { dailyCap, slidingWindow } from '@sluice/core'
import { choices } from '@sluice/core/choices'
import { explain, explanationText } from '@sluice/core/explain'
import { choiceFacts, choiceTexts } from '@sluice/core/internal/text'
import { expect, it } from 'vitest'
import { ACME, setUp } from '../../support/limiters.ts'

const usd = (dollars: number): number => Math.round(dollars * 1_000_000)

const BUDGET = dailyCap({ name: 'budget.daily', unit: 'usd', limit: usd(0.1), per: ['tenant'] })

const LADDER = choices([
  { subject: { model: 'gpt-6.1-sol' }, cost: { usd: usd(0.08) } },
  { subject: { model: 'gpt-6-terra' }, cost: { usd: usd(0.04) } },
  { subject: { model: 'gpt-6-luna' }, cost: { usd: usd(0.01) } },
])

/** A limiter with a budget of which so many dollars are left. */
async function withLeft(dollars: number) {
  const made = setUp([BUDGET])
  await made.limiter.check(ACME, { cost: { usd: usd(0.1 - dollars) } })
  return made
}

it('a choice that is passed over has a sentence with the numbers of its decision', async () => {
  const { limiter } = await withLeft(0.02)
  const explanation = await explain(limiter, ACME, { choices: LADDER })
  expect(explanation).toMatchObject({ decision: { allowed: true, choice: 2 }, denials: [] })
  expect(explanationText(explanation).split('\n')).toEqual([
    'Allowed.',
    '  gpt-6.1-sol: budget.daily has $0.02 left and it may cost $0.08; gpt-6-luna fits',
    '  gpt-6-terra: budget.daily has $0.02 left and it may cost $0.04; gpt-6-luna fits',
    '  budget.daily: $0.08 of $0.10 used',
  ])
})

it('a first choice that fits has no sentence, though others are looked at, too', async () => {
  const { limiter } = await withLeft(0.1)
  const explanation = await explain(limiter, ACME, { choices: LADDER })
  expect(explanation.decision.tried).toHaveLength(3)
  expect(explanationText(explanation)).toBe('Allowed.\n  budget.daily: $0.00 of $0.10 used')
})

it('choices that are all denied say when each fits, and the explanation is of the one that fits soonest', async () => {
  const perModel = slidingWindow({
    name: 'rpm',
    limit: ({ model }) => (model === 'small' ? 1 : 2),
    window: '1m',
    per: ['tenant', 'model'],
  })
  const { limiter, clock } = setUp([perModel])
  await limiter.check({ ...ACME, model: 'small' })
  clock.advance(20_000)
  await limiter.check({ ...ACME, model: 'large' }, { cost: 2 })
  const both = choices([
    { subject: { model: 'large' } },
    { subject: { model: 'small' } },
    { subject: { model: 'large' }, cost: 3 },
  ])
  const explanation = await explain(limiter, ACME, { choices: both })
  expect(explanation.decision).toMatchObject({ allowed: false, choice: 1, retryAfterMs: 40_000 })
  expect(explanation.denials).toMatchObject([{ policy: 'rpm', most: 1, raise: { to: 2 } }])
  expect(explanationText(explanation).split('\n')).toEqual([
    'Denied by rpm: 1 of 1 request used, and it asks for 1.',
    '  It fits in 40s if nothing else is charged.',
    '  It fits now with a limit of 2 for rpm.',
    '  large: rpm has 0 requests left and it asks for 1 request; it fits in 1m',
    '  small: rpm has 0 requests left and it asks for 1 request; it fits in 40s',
    '  large: rpm has 0 requests left and it asks for 3 requests; it never fits',
  ])
})

it('a choice after which less of the same fits says so', async () => {
  const { limiter } = await withLeft(0.02)
  const [whole, less] = [0.08, 0.02].map((dollars) => ({
    subject: { model: 'gpt-6.1-sol' },
    cost: { usd: usd(dollars) },
  }))
  const { tried } = await limiter.check(ACME, { choices: choices([whole!, less!]) })
  expect(choiceTexts(tried)).toEqual([
    'gpt-6.1-sol: budget.daily has $0.02 left and it may cost $0.08; less of it fits',
  ])
})

it('a sentence names all dimensions by which choices differ, and no more than a terminal may print', async () => {
  const perRegion = slidingWindow({ name: 'rpm', limit: 1, window: '1m', per: ['model', 'region'] })
  const { limiter } = setUp([perRegion])
  const [eu, us] = [
    { model: 'a', region: 'eu\u001b[2J' },
    { model: 'a', region: 'us' },
  ]
  await limiter.check(eu)
  const { tried } = await limiter.check(ACME, {
    choices: choices([{ subject: eu }, { subject: us }]),
  })
  expect(choiceTexts(tried)).toEqual([
    'model=a region=eu\\u001b[2J: rpm has 0 requests left and it asks for 1 request; model=a region=us fits',
  ])
})

it('the facts of choices that are kept are the first 8 and the one that fits, with the same sentences', async () => {
  const perModel = slidingWindow({ name: 'rpm', limit: 1, window: '1m', per: ['model'] })
  const { limiter } = setUp([perModel])
  const list = Array.from({ length: 12 }, (_, at) => ({ subject: { model: `m${at}` } }))
  for (const { subject } of list.slice(0, 11)) await limiter.check(subject)
  const { tried = [] } = await limiter.check({}, { choices: choices(list) })
  const facts = choiceFacts(tried)
  expect(facts.map(({ subject }) => subject['model'])).toEqual([
    'm0',
    'm1',
    'm2',
    'm3',
    'm4',
    'm5',
    'm6',
    'm7',
    'm11',
  ])
  expect(choiceTexts(JSON.parse(JSON.stringify(facts)))).toEqual(choiceTexts(tried).slice(0, 8))
  expect(choiceTexts(facts, true)[0]).toBe(
    'm0: rpm had 0 requests left and it asked for 1 request; m11 fitted',
  )
})
