import type { PolicyRule } from '../../policies/policy.ts'
import { MAX_UNITS } from '../../internal/validation.ts'
import { argsOf, layoutOf, REPLY_PER_POLICY } from './protocol.ts'

/**
 * How far callers' clocks may differ, in milliseconds, where Redis refuses TIME and theirs decide: keys
 * then live that much longer, so that a fast one's do not expire too early for the others.
 */
const CALLER_SKEW_MS = 60_000

/** How much longer keys live by an injected clock, which may stand still while Redis' goes on. */
const INJECTED_SLACK_MS = 86_400_000

/** Lua has at most 200 locals in a function; past this many, variables are fields of a table. */
const MOST_LOCALS = 120

/** The first of the policies' ARGV. */
const FIRST_ARG = 4

/** The first ARGV of each policy, and the first after them. */
function argPositions(policies: readonly PolicyRule[]): number[] {
  const positions = [FIRST_ARG]
  for (const policy of policies) positions.push((positions.at(-1) ?? 0) + 1 + argsOf(policy).length)
  return positions
}

/** Lua that is true of whole numbers up to `most`: not of NaN, against which everything fits. */
export const isWhole = (name: string, most: number | string = MAX_UNITS): string =>
  `${name} >= 0 and ${name} <= ${most} and ${name} % 1 == 0`

/** Sets `now`. ARGV: the caller's time; what to do with it. */
export const CLOCK: string = `-- The time: Redis' own, or the caller's.
local now, own, slack, skewed = tonumber(ARGV[1]), false, ${CALLER_SKEW_MS}, false
if ARGV[2] == 'injected' then
  slack = ${INJECTED_SLACK_MS}
elseif ARGV[2] == 'own' then
  local time = redis.pcall('TIME')
  if time.err then
    skewed = true
  else
    now, own, slack = time[1] * 1000 + (time[2] - time[2] % 1000) / 1000, true, 0
  end
end
if not (${isWhole('now', '2^53')}) then error('bad argument') end
`

/**
 * The script that decides for these policies, and, if `reserving`, leaves a mark that allows settling.
 * Phase one reads every key, phase two writes only if all that are enforced fit. A policy that takes
 * no part has `-` among ARGV and no key, so the keys after it move up by one.
 *
 * KEYS: one for each group that takes part; those of the records to read; the mark's.
 * ARGV: the time, the clock, the id; for each policy `e` (enforced) or `s` (shadow), and its numbers;
 * whether to charge, the mark's milliseconds, and the names of the fields to read.
 */
export function decidingScript(policies: readonly PolicyRule[], reserving: boolean): string {
  const positions = argPositions(policies)
  const after = positions.at(-1) ?? FIRST_ARG
  const fields = reserving ? after + 1 : after
  const states = REPLY_PER_POLICY * policies.length
  const width = reserving ? states + policies.length : states
  const variables: string[] = []
  const checks: string[] = []
  const adds: string[] = []
  for (const members of layoutOf(policies).groups) {
    const number = checks.length + 1
    const numbered = (text: string): string => text.replace(/\$(\w+)/g, `$$$1_${number}`)
    const rules = members.map((index) => ({ index, rule: policies[index] as PolicyRule }))
    const parts = rules.map(({ index, rule }) => {
      const lua = rule.algorithm.lua(rule.params)
      return { lua, check: checkOf(rule, lua.check, positions[index] ?? 0, replyOf(index)) }
    })
    const [{ lua }] = parts as [(typeof parts)[number]]
    const { read = '', add, position, keeps = [] } = lua
    variables.push(...['key', 'charge', ...keeps].map((name) => `${name}_${number}`))
    const takesPart = members.map((index) => `ARGV[${positions[index]}] ~= '-'`)
    checks.push(
      numbered(`if ${takesPart.join(' or ')} then
  k = k + 1
  local key, enforcing, unfit = KEYS[k], false, false
  $key = key
  ${indent(read)}
  ${parts.map(({ check }) => indent(check)).join('\n  ')}
  if unfit and not enforcing then $charge = nil end
end`),
    )
    const told = members.map((index, member) => {
      const where = reserving ? ` reply[${2 + states + index}] = ${position}` : ''
      const state = `reply[${replyOf(index)}]`
      return `if ${takesPart[member]} then ${state} = ${state} + 2${where} end`
    })
    adds.push(
      numbered(`if $charge then
  local key, cost = $key, $charge
  ${indent(add)}
  ${told.join('\n  ')}
end`),
    )
  }
  if (reserving) adds.push(`redis.call('SET', KEYS[#KEYS], '', 'PX', ARGV[${after + 1}])`)
  const isWide = variables.length > MOST_LOCALS
  // A record that is none reads as nothing: by now the charge has been made, and an error would hide it.
  return `${CLOCK}-- Phase one looks at every key; k counts those of policies that take part.
local id, k, go = ARGV[3], 0, ARGV[${after}] == '1'
local reply = { now, ${Array.from({ length: width }, () => '0').join(', ')} }
local ${isWide ? 'kept = {}' : variables.join(', ')}
${[
  ...checks,
  '-- Phase two: everything enforced fits, so every key is charged.\nif go then',
  ...adds.map((add) => `  ${indent(add)}`),
]
  .join('\n')
  .replace(/\n\s*\n/g, '\n')
  .replace(/\$(?=\w)/g, isWide ? 'kept.' : '')}
end
-- Records that are read along.
for at = k + 1, #KEYS${reserving ? ' - 1' : ''} do
  local value = redis.pcall('HGET', KEYS[at], ARGV[${fields} + at - k])
  reply[${width + 1} + at - k] = type(value) == 'string' and value
end
return reply
`
}

const replyOf = (index: number): number => 2 + REPLY_PER_POLICY * index

// In a key that several policies share, one that is enforced has all be charged; else all must fit.
function checkOf(rule: PolicyRule, check: string, at: number, reply: number): string {
  const names = argsOf(rule)
  const values = names.map((_, offset) => `tonumber(ARGV[${at + 1 + offset}])`)
  return `if ARGV[${at}] ~= '-' then
  -- ${rule.name}: ${rule.algorithm.id} ${rule.params.join(' ')}
  local enforced, ${names.join(', ')} = ARGV[${at}] == 'e', ${values.join(', ')}
  if not (${names.map((name) => isWhole(name)).join(' and ')}) then error('bad argument') end
  local fits, available, reset, retry, wait = false, 0, 0, 0, 0
  ${indent(check)}
  enforcing = enforcing or enforced
  unfit = unfit or not fits
  if enforced and not fits then go = false end
  $charge = cost > 0 and cost
  reply[${reply}] = fits and 1 or 0
  reply[${reply + 1}] = available > 0 and available or 0
  reply[${reply + 2}], reply[${reply + 3}] = reset, fits and wait or retry
end`
}

/** Indents all lines but the first. */
export const indent = (text: string, by = 2): string =>
  text.trim().replaceAll('\n', `\n${' '.repeat(by)}`)
