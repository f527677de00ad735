/* The table of limits in the documentation of an API. */
import { refuse } from './errors.ts'
import { codeText, markdownTable, plainText } from './markdown.ts'
import type { PublicAmount, PublicLimit, PublicLimits } from './public-limits.ts'

/**
 * Returns the table, as Markdown.
 *
 * @param isChosen True if somebody chose the plans: each has a column, even if all have the same.
 * @throws CommandError When no limit is for customers.
 */
export function publicTable(
  { limits, plans, defaultPlan }: PublicLimits,
  isChosen: boolean,
): string {
  if (limits.length === 0)
    refuse(
      'no limit is for customers: those of everyone together, in shadow, in a rollout, of balances, shares and lines, and those that all plans have unlimited are left out',
    )
  const hasPlans = isChosen || limits.some(({ amount }) => 'plans' in amount)
  const columns = hasPlans ? plans : []
  const heads = columns.map(
    (plan) => `${plainText(plan)}${plan === defaultPlan ? ' (default)' : ''}`,
  )
  const head = ['Policy', 'Limit', 'For each', ...(hasPlans ? heads : ['Amount'])]
  const rows = limits.map((limit) => rowOf(limit, hasPlans ? columns : ['']))
  return markdownTable({ head, rows }, (text) => text).join('\n')
}

const rowOf = (
  { policy, unit, period, scope, routes, amount }: PublicLimit,
  plans: readonly string[],
): string[] => [
  codeText(policy),
  `${unitName(unit)} ${period}${routes ? ` (${routes.map(codeText).join(', ')})` : ''}`,
  scope.split('+').map(plainText).join(' and '),
  ...plans.map((plan) =>
    amountText('plans' in amount ? (amount.plans[plan] as PublicAmount) : amount, unit),
  ),
]

/** Returns the name of a unit as a title: `Input tokens`. */
function unitName(unit: string): string {
  const words = pluralOf(unit.replaceAll(/[_-]/g, ' ').trim())
  return unit === 'usd' ? 'Dollars' : `${words.charAt(0).toUpperCase()}${words.slice(1)}`
}

function pluralOf(word: string): string {
  if (/[^aeiou]y$/i.test(word)) return `${word.slice(0, -1)}ies`
  if (/(ss|x|z|ch|sh)$/i.test(word)) return `${word}es`
  // A unit may be named in the plural.
  return word.endsWith('s') ? word : `${word}s`
}

const NUMBER = new Intl.NumberFormat('en-US')
const DOLLARS = new Intl.NumberFormat('en-US', {
  style: 'currency',
  currency: 'USD',
  maximumFractionDigits: 6,
})

function amountText({ limit, atOnce }: PublicAmount, unit: string): string {
  const inWords = (units: number): string =>
    unit === 'usd' ? DOLLARS.format(units / 1_000_000) : NUMBER.format(units)
  if (typeof limit !== 'number') return limit
  return `${inWords(limit)}${atOnce === undefined ? '' : `, at most ${inWords(atOnce)} at once`}`
}
