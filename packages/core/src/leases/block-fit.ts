/* The sizes of blocks, decided in the same atomic step as the check: two twins that must agree. */
import type { LuaFitKind } from '../lua/twins.ts'
import type { Fit } from '../stores/store.ts'
import { availableTo, chargeOf, checkFitArguments, fitArgument } from '../lua/expressions.ts'

/**
 * Units that nobody waits for are at most this part of those that are free: when few are left, other processes
 * get some, too.
 */
const PART = 4

/** The decisions to take a block for. */
export interface Wanted {
  /** The one that takes it, and those to come. */
  readonly ahead: number
  /** The decisions that wait for the block. */
  readonly waiting: number
}

const ONE: Wanted = { ahead: 1, waiting: 0 }

/** Returns the number of decisions that a block is taken for. */
export function blockSize({ ahead, waiting }: Wanted, cost: number, available: number): number {
  if (cost === 0) return 1
  const part = Math.floor((available - waiting * cost) / (PART * cost))
  const size = waiting + Math.max(1, Math.min(ahead, part))
  return Math.max(1, Math.min(size, Math.floor(available / cost)))
}

/** The decisions to take blocks for, by the position of the policy. */
type WantedByIndex = Readonly<Record<number, Wanted>>

/**
 * Creates the `fit` that multiplies the costs of some policies by the sizes of their blocks. Its floor is
 * one decision.
 */
export const blockFit = (wanted: WantedByIndex): Fit => ({
  kind: BLOCKS,
  floor: 1,
  most: 1,
  data: wanted,
})

export const BLOCKS: LuaFitKind<WantedByIndex> = {
  name: 'blocks',
  grant: () => 1,
  charge: ({ data: wanted }, entries, { verdicts }) =>
    entries.map((entry, at) => {
      const { cost, index } = entry
      const { available = 0 } = verdicts[at] ?? {}
      return { ...entry, cost: cost * blockSize(wanted[index] ?? ONE, cost, available) }
    }),
  lua: {
    args({ data: wanted }, policies) {
      const all = policies.map((_, index) => wanted[index] ?? ONE)
      return [...all.map(({ ahead }) => ahead), ...all.map(({ waiting }) => waiting)].map(String)
    },
    grant(parts, groups) {
      const count = 2 * parts.length
      const blocks = groups.flatMap((positions, group) => {
        const [position = 0] = positions
        const part = parts[position]
        // Policies that share a key are not leased.
        if (!part || positions.length > 1) return []
        const charge = chargeOf(group)
        const ahead = fitArgument(position, count)
        const waiting = fitArgument(parts.length + position, count)
        return `if ${charge} then
  ${charge} = ${charge} * size(tonumber(${ahead}), tonumber(${waiting}), ${charge}, ${availableTo(part)})
end`
      })
      return `-- Charge blocks of units, to be served by the caller.
${checkFitArguments(count)}
local granted = 1
local function size(ahead, waiting, cost, available)
  local part = math.floor((available - waiting * cost) / (${PART} * cost))
  local most = waiting + math.max(1, math.min(ahead, part))
  return math.max(1, math.min(most, math.floor(available / cost)))
end
${blocks.join('\n')}`
    },
  },
}
