/* The sizes of blocks, decided in the same atomic step as the check: two twins that must agree. */
import type { LuaFitKind } from '../lua/twins.ts'
import type { Fit } from '../stores/store.ts'
import { availableTo, chargeOf, checkFitArguments, fitArgument } from '../lua/expressions.ts'

/** One block takes at most this part of the units that are free: when few are left, others get some, too. */
const PART = 4

/** Returns the number of decisions that a block is taken for, of the `wanted` ones. */
export function blockSize(wanted: number, cost: number, available: number): number {
  if (cost === 0) return 1
  return Math.max(1, Math.min(wanted, Math.floor(available / (PART * cost))))
}

/** The decisions to take a block for, by the position of the policy. One, if it has none. */
type Wanted = Readonly<Record<number, number>>

/**
 * Creates the `fit` that multiplies the costs of some policies by the sizes of their blocks. Its floor is
 * one decision.
 */
export const blockFit = (wanted: Wanted): Fit => ({ kind: BLOCKS, floor: 1, most: 1, data: wanted })

const BLOCKS: LuaFitKind<Wanted> = {
  name: 'blocks',
  grant: () => 1,
  charge: ({ data: wanted }, entries, { verdicts }) =>
    entries.map((entry, at) => {
      const { cost, index } = entry
      const { available = 0 } = verdicts[at] ?? {}
      return { ...entry, cost: cost * blockSize(wanted[index] ?? 1, cost, available) }
    }),
  lua: {
    args: ({ data: wanted }, policies) => policies.map((_, index) => String(wanted[index] ?? 1)),
    grant(parts, groups) {
      const blocks = groups.flatMap((positions, group) => {
        const [position = 0] = positions
        const part = parts[position]
        // Policies that share a key are not leased.
        if (!part || positions.length > 1) return []
        const charge = chargeOf(group)
        const free = `math.floor(${availableTo(part)} / (${PART} * ${charge}))`
        const size = `math.max(1, math.min(tonumber(${fitArgument(position, parts.length)}), ${free}))`
        return `if ${charge} then ${charge} = ${charge} * ${size} end`
      })
      return `-- Charge blocks of units, to be served by the caller.
${checkFitArguments(parts.length)}
local granted = 1
${blocks.join('\n')}`
    },
  },
}
