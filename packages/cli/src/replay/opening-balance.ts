import type { OpeningBalance, PolicySet } from '@sluice/replay'
import { unitsOf } from '../amount.ts'
import { refuse } from '../errors.ts'
import { option } from '../wording.ts'
import { itemsOf } from './log-options.ts'

/**
 * Returns the units that balances begin with: `50`, or `acme=50,beta=20`.
 *
 * @throws CommandError When the limits have no credits, count them in several units, or are credits alone and there is no text.
 */
export function openingBalanceOf(
  text: string | undefined,
  sets: readonly PolicySet[],
): OpeningBalance | undefined {
  if (text === undefined) return assertNotNeeded(sets)
  const rules = sets.flatMap(({ rulesWithCredits }) => rulesWithCredits)
  const units = [...new Set(rules.flatMap(({ unit, balance }) => (balance ? [unit] : [])))]
  const [unit = ''] = units
  if (units.length !== 1) {
    const found =
      units.length === 0 ? 'have none' : `count them in several units: ${units.join(', ')}`
    return refuse(
      `${option('balance')} is what balances of credits begin with, and the limits ${found}`,
    )
  }
  if (!text.includes('=')) return unitsOf(text, { unit }, option('balance'))
  const entries = itemsOf('balance', text).map((item) => {
    const [, tenant, amount] = /^(.+)=([^=]+)$/.exec(item) ?? []
    if (tenant !== undefined && amount !== undefined) {
      return [tenant, unitsOf(amount, { unit }, option('balance'))] as const
    }
    return refuse(
      `${option('balance')} ${text} must be an amount, or a list such as "acme=50,beta=20"`,
    )
  })
  const tenants = entries.map(([tenant]) => tenant)
  const twice = tenants.find((tenant, at) => tenants.indexOf(tenant) !== at)
  if (twice !== undefined) refuse(`${option('balance')} ${text} must name ${twice} once`)
  return Object.fromEntries(entries)
}

/** @throws CommandError When limits are of credits alone: without what balances begin with, there is nothing to replay. */
function assertNotNeeded(sets: readonly PolicySet[]): undefined {
  if (!sets.some(isOfCredits)) return
  refuse(
    `the limits are credits alone: say what each balance begins with, such as ${option('balance', '50')}`,
  )
}

const isOfCredits = ({ rules, rulesWithCredits }: PolicySet): boolean =>
  rules.length === 0 && rulesWithCredits.some(({ balance }) => balance)
