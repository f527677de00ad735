import { amountText, durationText, unitsText } from '@sluice/core/internal/text'
import { expect, it } from 'vitest'

it.each([
  [0, '0ms'],
  [999, '999ms'],
  [1_000, '1s'],
  [36_001, '37s'],
  [60_000, '1m'],
  [60_001, '1m 1s'],
  [119_500, '2m'],
  [3_599_001, '60m'],
  [3_600_000, '1h'],
  [43_140_001, '12h'],
  [90_000_000, '1d 1h'],
  [2_678_400_000, '31d'],
])('%i ms are %s: never less', (ms, text) => {
  expect(durationText(ms)).toBe(text)
})

it('shows dollars, and names other units', () => {
  expect(unitsText(1_250_000, 'usd')).toBe('$1.25')
  expect(unitsText(120, 'usd')).toBe('$0.000120')
  expect(unitsText('unlimited', 'usd')).toBe('unlimited')
  expect([amountText(1, 'request'), amountText(0, 'token'), amountText(0, 'usd')]).toEqual([
    '1 request',
    '0 tokens',
    '$0.00',
  ])
})
