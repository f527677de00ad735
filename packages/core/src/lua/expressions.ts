/* The names in Lua of what a script is given, for code that changes or notes the charges of a decision. */
import type { ScriptPart } from './twins.ts'
import { numbersOf } from './call.ts'
import { isWhole } from './program.ts'

/** The argument at this position in ARGV, the first of which is 1: a text. */
export const argument = (position: number): string => `ARGV[${position}]`

/** The key with this many keys after it. */
export const keyFromEnd = (after: number): string =>
  after ? `KEYS[#KEYS - ${after}]` : 'KEYS[#KEYS]'

/** True in a script if the policy takes part and may deny. */
export const isEnforced = ({ arg }: ScriptPart): string => `${argument(arg)} == 'e'`

/** True in a script if the policy takes part and only observes. */
export const isShadow = ({ arg }: ScriptPart): string => `${argument(arg)} == 's'`

/** The units asked of a policy, as a text. */
export const costOf = ({ arg, rule }: ScriptPart): string => argument(arg + numbersOf(rule).length)

/** The units that a policy has free before the charge. */
export const availableTo = ({ state }: ScriptPart): string => `reply[${state + 1}]`

/** A variable: the units to charge to the policies of a group, or nil if there are none. */
export const chargeOf = (group: number): string => `$charge_${group + 1}`

/** The notes of a decision's charges, which are no part of its answer: a text, or nil before the first. */
export const NOTES = 'reply.mark'

/** The arguments of a `fit`: the last of ARGV. */
export const fitArguments = (count: number) => ({
  /** Returns one of them by its place, the first of which is 0: a text. */
  at(place: number): string {
    const after = count - 1 - place
    return after ? `ARGV[#ARGV - ${after}]` : 'ARGV[#ARGV]'
  },
  /** Lua that fails unless each is a whole number. */
  check: `for at = #ARGV - ${count - 1}, #ARGV do
  local number = tonumber(ARGV[at])
  if not (number and ${isWhole('number')}) then error('bad argument') end
end`,
})
