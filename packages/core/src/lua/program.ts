/* The Lua script that decides for the policies of a limiter, assembled from their algorithms' fragments. */
import type { LuaFragments } from '../algorithms/algorithm.ts'
import type { PolicyRule } from '../policies/policy.ts'
import type { StoreRequest } from '../stores/store.ts'
import { MAX_UNITS } from '../internal/validation.ts'
import { layoutOf, numbersOf, REPLY_PER_POLICY } from './call.ts'
import { luaOf, type LuaMarkKind, type ScriptPart } from './twins.ts'

/**
 * The assumed difference between callers' clocks, in milliseconds. Where Redis refuses TIME, theirs decide,
 * and keys live that much longer: a fast clock must not have them expire too early for the others.
 */
const CALLER_SKEW_MS = 60_000

/** The longer life of keys under an injected clock, which may stand still while Redis' own goes on. */
const INJECTED_SLACK_MS = 86_400_000

/** Lua allows 200 locals in a function. Past this many, variables become fields of a table. */
const MAX_LOCALS = 120

/** The position of the first policy's first argument in ARGV. */
const FIRST_ARG = 4

/** A Lua condition: a whole number up to `max`, and not NaN, which no comparison with a limit would stop. */
export const isWhole = (name: string, max: number | string = MAX_UNITS): string =>
  `${name} >= 0 and ${name} <= ${max} and ${name} % 1 == 0`

/** Sets `now`. ARGV: the caller's time, and which clock to use. */
export const CLOCK: string = `local now, own, slack, skewed = tonumber(ARGV[1]), false, ${CALLER_SKEW_MS}, false
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

/** A policy's part of the script, and what it is made of. */
interface Part extends ScriptPart {
  readonly lua: LuaFragments
}

/**
 * Assembles the script for requests of these policies. With `mark`, it also writes a mark that allows settling. Phase one
 * reads every key. Phase two writes, only if all enforced policies fit. A policy that takes no part has `-`
 * in ARGV and no key, so the keys after it move up by one.
 *
 * @param beforeWrites Lua for the start of phase two.
 *
 * KEYS: one for each group that takes part; those of the records to read; those of the mark.
 * ARGV: the time, the clock, the id; for each policy `e` (enforced) or `s` (shadow), and its numbers;
 * whether to charge; the arguments of the mark; for each record the field to read, and the value that it must have for a charge, or `*`; the arguments of `fit`.
 */
export function decidingScript(
  request: Pick<StoreRequest, 'policies' | 'mark' | 'fit'>,
  beforeWrites = '',
): string {
  const { policies } = request
  const { parts, nextArg } = partsOf(policies)
  const mark = request.mark && luaOf(request.mark)
  const fit = request.fit && luaOf(request.fit)
  const fields = nextArg + (mark?.argCount ?? 0)
  const width = REPLY_PER_POLICY * policies.length + (fit ? 1 : 0)
  const variables: string[] = []
  const checks: string[] = []
  const adds: string[] = []
  const { groups } = layoutOf(policies)
  for (const positions of groups) {
    const group = positions.map((index) => parts[index] as Part)
    const [{ lua: first }] = group as [Part]
    const number = checks.length + 1
    const numbered = (text: string): string => text.replace(/\$(\w+)/g, `$$$1_${number}`)
    const names = ['key', 'charge', ...(first.keeps ?? [])]
    variables.push(...names.map((name) => `${name}_${number}`))
    checks.push(numbered(checkGroup(group, first.read)))
    adds.push(numbered(addGroup(group, first, mark)))
  }
  if (fit) checks.push(fit.grant(parts, groups), `reply[${width + 1}] = granted`)
  if (mark) adds.push(mark.write(nextArg + 1))
  const isWide = variables.length > MAX_LOCALS
  // A record that is something else reads as nothing: it must not fail every decision.
  return `${CLOCK}local id, k, go = ARGV[3], 0, ARGV[${nextArg}] == '1'
local reply = { now, ${Array.from({ length: width }, () => '0').join(', ')} }
local ${isWide ? 'kept = {}' : variables.join(', ')}
${[
  ...checks,
  `for at = k + 1, #KEYS${mark ? ` - ${mark.keyCount}` : ''} do
  local arg = ${fields} + 2 * (at - k)
  local value, is = redis.pcall('HGET', KEYS[at], ARGV[arg - 1]), ARGV[arg]
  value = type(value) == 'string' and value
  reply[${width + 1} + at - k] = value
  if is ~= '*' and is ~= (value or '') then go = false end
end`,
  'if go then',
  beforeWrites,
  ...adds.map((add) => `  ${indent(add)}`),
]
  .join('\n')
  .replace(/\n\s*\n/g, '\n')
  .replace(/\$(?=\w)/g, isWide ? 'kept.' : '')}
end
return reply
`
}

/** Returns the parts of the policies, and the next free position in ARGV. */
function partsOf(policies: readonly PolicyRule[]): { parts: Part[]; nextArg: number } {
  let nextArg = FIRST_ARG
  const parts = policies.map((rule, index): Part => {
    const state = 2 + REPLY_PER_POLICY * index
    const lua = rule.algorithm.lua(rule.params)
    const part = { rule, index, lua, arg: nextArg, state }
    nextArg += 1 + numbersOf(rule).length
    return part
  })
  return { parts, nextArg }
}

const takesPart = ({ arg }: Part): string => `ARGV[${arg}] ~= '-'`

/** Phase one for the policies of one key. If none of them is enforced, all must fit for a charge. */
const checkGroup = (
  group: readonly Part[],
  read = '',
): string => `if ${group.map(takesPart).join(' or ')} then
  k = k + 1
  local key, enforcing, unfit = KEYS[k], false, false
  $key = key
  ${indent(read)}
  ${group.map((part) => indent(checkPolicy(part))).join('\n  ')}
  if unfit and not enforcing then $charge = nil end
end`

/** Evaluates one policy and writes its state into the reply. */
function checkPolicy(part: Part): string {
  const { rule, lua, arg, state } = part
  const names = numbersOf(rule)
  const values = names.map((_, offset) => `tonumber(ARGV[${arg + 1 + offset}])`)
  return `if ${takesPart(part)} then
  -- ${rule.name}: ${rule.algorithm.id} ${rule.params.join(' ')}
  local enforced, ${names.join(', ')} = ARGV[${arg}] == 'e', ${values.join(', ')}
  if not (${names.map((name) => isWhole(name)).join(' and ')}) then error('bad argument') end
  local fits, available, reset, retry, wait = false, 0, 0, 0, 0
  ${indent(lua.check)}
  enforcing = enforcing or enforced
  unfit = unfit or not fits
  if enforced and not fits then go = false end
  $charge = cost > 0 and cost
  reply[${state}] = fits and 1 or 0
  reply[${state + 1}] = available > 0 and available or 0
  reply[${state + 2}], reply[${state + 3}] = reset, fits and wait or retry
end`
}

/** Phase two for the policies of one key: one charge, reported to each of them. */
function addGroup(
  group: readonly Part[],
  { add, position }: LuaFragments,
  mark: LuaMarkKind['lua'] | undefined,
): string {
  const reports = group.map((part) => {
    const { index, state } = part
    const noting = mark ? ` ${mark.note(index, position)}` : ''
    return `if ${takesPart(part)} then reply[${state}] = reply[${state}] + 2${noting} end`
  })
  return `if $charge then
  local key, cost = $key, $charge
  ${indent(add)}
  ${reports.join('\n  ')}
end`
}

/** Indents all lines but the first. */
export const indent = (text: string, by = 2): string =>
  text.trim().replaceAll('\n', `\n${' '.repeat(by)}`)
