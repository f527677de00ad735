/* The names in Lua of what a script is given, for code that changes or notes the charges of a decision. */
import type { ScriptPart } from './twins.ts'
import { numbersOf } from './call.ts'
import { isWhole } from './program.ts'

/** The argument at this position in ARGV, the first of which is 1: a text. */
export const argument = (position: number): string => `ARGV[${position}]`

/** The last key that a script is given, which is that of a mark. */
export const LAST_KEY = 'KEYS[#KEYS]'

/** The key before the last. */
export const KEY_BEFORE_LAST = 'KEYS[#KEYS - 1]'

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

/** One of the arguments of a `fit`, which are the last of ARGV, by its place, the first of which is 0: a text. */
export const fitArgument = (place: number, count: number): string =>
  `ARGV[#ARGV - ${count - 1 - place}]`

/** Lua that fails unless each argument of a `fit` is a whole number. */
export const checkFitArguments = (count: number): string => `for at = #ARGV - ${count - 1}, #ARGV do
  local number = tonumber(ARGV[at])
  if not (number and ${isWhole('number')}) then error('bad argument') end
end`
