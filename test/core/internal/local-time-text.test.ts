import { choiceFacts, choiceTexts, localTimeText, usedText } from '@sluice/core/internal/text'
import { expect, it } from 'vitest'

const END = '2026-12-01T00:00:00+01:00[Europe/Berlin]'

it.each([
  [END, '2026-12-01 00:00 (Europe/Berlin)'],
  ['2026-12-15T06:00:00+00:00[UTC]', '2026-12-15 06:00 (UTC)'],
  ['2011-12-31T00:00:00+14:00[Pacific/Apia]', '2011-12-31 00:00 (Pacific/Apia)'],
  ['2026-03-08T00:00:00-03:30[America/St_Johns]', '2026-03-08 00:00 (America/St_Johns)'],
  [
    '2026-07-01T23:00:00-04:00[America/Argentina/ComodRivadavia]',
    '2026-07-01 23:00 (America/Argentina/ComodRivadavia)',
  ],
  ['2026-07-01T00:00:00+05:30[+05:30]', '2026-07-01 00:00 (+05:30)'],
])('%s is read as %s', (end, text) => {
  expect(localTimeText(end)).toBe(text)
})

it('the used part of a limit has the end of its period only with a calendar', () => {
  expect(usedText(3, 60, 'request')).toBe('3 of 60 requests used')
  expect(usedText(3, 60, 'request', END)).toBe(
    '3 of 60 requests used in the period until 2026-12-01 00:00 (Europe/Berlin)',
  )
})

it('a choice that was passed over has the end of the budget, also when it is read later', () => {
  const violated = { name: 'budget.monthly', unit: 'usd', remaining: 20_000, cost: 80_000 }
  const tried = (end: object) => [
    {
      subject: { model: 'large' },
      allowed: false,
      retryAfterMs: 7_200_000,
      violated: { ...violated, ...end },
    },
  ]
  const kept = JSON.parse(JSON.stringify(choiceFacts(tried({ resetsAt: END })))) as ReturnType<
    typeof tried
  >
  expect(choiceTexts(kept)).toEqual([
    'large: budget.monthly has $0.02 left until 2026-12-01 00:00 (Europe/Berlin) and it may cost $0.08; it fits in 2h',
  ])
  expect(choiceTexts(choiceFacts(tried({})))).toEqual([
    'large: budget.monthly has $0.02 left and it may cost $0.08; it fits in 2h',
  ])
  expect(choiceFacts(tried({ resetsAt: undefined }))).toStrictEqual(tried({}))
})
