import type { LuaFragments } from '../../algorithms/algorithm.ts'
import type { PolicyRule } from '../../policies/policy.ts'
import { MAX_UNITS } from '../../validate.ts'

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

/** The numbers of one policy in the reply: its state, units available, reset, wait. */
export const REPLY_PER_POLICY = 4

/** Which of a policy's numbers are among ARGV, after the one that says whether it takes part. */
export const argsOf = ({ burst }: PolicyRule): readonly ('limit' | 'burst' | 'cost')[] =>
  burst === undefined ? ['limit', 'cost'] : ['limit', 'burst', 'cost']

/** The first ARGV of each policy, and the first after them. */
function argPositions(policies: readonly PolicyRule[]): number[] {
  const positions = [FIRST_ARG]
  for (const policy of policies) positions.push((positions.at(-1) ?? 0) + 1 + argsOf(policy).length)
  return positions
}

/** Positions of the policies that count in one key, key by key, as the script visits them. */
export function groupsOf(policies: readonly PolicyRule[]): readonly (readonly number[])[] {
  const groups = new Map<object, number[]>()
  for (const [index, policy] of policies.entries()) {
    const group = groups.get(policy.keyspace ?? policy)
    if (group) group.push(index)
    else groups.set(policy.keyspace ?? policy, [index])
  }
  return [...groups.values()]
}

/** Policies that count in one key. */
interface Group {
  readonly members: readonly number[]
  /** The fragments of each member; those of the first read and write the key. */
  readonly fragments: readonly LuaFragments[]
}

/** Names the script that these policies need: those of one shape share it, whatever their limits. */
export function shapeOf(policies: readonly PolicyRule[]): string {
  const known = shapes.get(policies)
  if (known !== undefined) return known
  const spaces: object[] = []
  const shape = policies
    .map(({ algorithm, params, keyspace, burst }, index) => {
      const space = keyspace ?? {}
      const first = spaces.indexOf(space)
      spaces.push(space)
      const bucket = burst === undefined ? '' : '+'
      return `${algorithm.id}${bucket}-${params.join('-')}${first < 0 ? '' : `@${first - index}`}`
    })
    .join()
  shapes.set(policies, shape)
  return shape
}

const shapes = new WeakMap<readonly PolicyRule[], string>()

/** Lua that is true of whole numbers up to `most`: not of NaN, against which everything fits. */
export const isWhole = (name: string, most: number | string = MAX_UNITS): string =>
  `${name} >= 0 and ${name} <= ${most} and ${name} % 1 == 0`

/** Sets `now`. ARGV: the caller's time; what to do with it. */
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

/** Replaces `$name` by a variable of the group that outlives its block. */
function withVariables(text: string, variables: ReadonlyMap<string, string>): string {
  return text.replace(/\$(\w+)/g, (whole, name: string) => variables.get(name) ?? whole)
}

/**
 * The script that decides for these policies, and, if `reserving`, leaves a mark that allows settling.
 * Phase one reads every key, phase two writes only if all that are enforced fit. A policy that takes
 * no part has `-` among ARGV and no key, so the keys after it move up by one.
 *
 * KEYS: one for each group that takes part; those of the records to read; the mark's.
 * ARGV: the time, the clock, the id, four for each policy, then whether to charge, the mark's
 * milliseconds, and the names of the fields to read.
 */
export function decidingScript(policies: readonly PolicyRule[], reserving: boolean): string {
  const groups = groupsOf(policies).map((members): Group => {
    const own = members.map((index) => policies[index] as PolicyRule)
    return { members, fragments: own.map(({ algorithm, params }) => algorithm.lua(params)) }
  })
  const positions = argPositions(policies)
  const after = positions.at(-1) ?? FIRST_ARG
  const fields = reserving ? after + 1 : after
  const width = REPLY_PER_POLICY * policies.length + (reserving ? policies.length : 0)
  const names = groups.map(({ fragments: [lua] }, at) =>
    ['key', 'charge', ...(lua?.keeps ?? [])].map((name) => [name, `${name}_${at + 1}`] as const),
  )
  const isWide = names.flat().length > MOST_LOCALS
  const variables = names.map(
    (list) =>
      new Map(list.map(([name, local]) => [name, isWide ? `kept.${local}` : local] as const)),
  )
  const locals = isWide
    ? 'kept = {}'
    : names
        .flat()
        .map(([, local]) => local)
        .join(', ')
  const placeholders = Array.from({ length: width }, () => '0')
  const parts = [
    `local id, k, go = ARGV[3], 0, ARGV[${after}] == '1'
local reply = { now, ${placeholders.join(', ')} }
local ${locals}`,
  ]
  for (const [at, group] of groups.entries()) {
    parts.push(withVariables(checkOf(policies, group, positions), variables[at] ?? new Map()))
  }
  parts.push('if go then')
  for (const [at, group] of groups.entries()) {
    const text = addOf(policies.length, group, positions, reserving)
    parts.push(withVariables(text, variables[at] ?? new Map()))
  }
  if (reserving) parts.push(`redis.call('SET', KEYS[#KEYS], '', 'PX', ARGV[${after + 1}])`)
  // A record that is none reads as nothing: by now the charge has been made, and an error would hide it.
  parts.push(`end
for at = k + 1, #KEYS${reserving ? ' - 1' : ''} do
  local value = redis.pcall('HGET', KEYS[at], ARGV[${fields} + at - k])
  reply[${width + 1} + at - k] = type(value) == 'string' and value
end
return reply
`)
  return `${CLOCK}${parts.join('\n')}`
}

function checkOf(
  policies: readonly PolicyRule[],
  { members, fragments }: Group,
  positions: readonly number[],
): string {
  const takesPart = members.map((index) => `ARGV[${positions[index]}] ~= '-'`).join(' or ')
  const isShared = members.length > 1
  const checks = members.map((index, member) => {
    const at = positions[index] ?? 0
    const policy = policies[index] as PolicyRule
    const names = argsOf(policy)
    const values = names.map((_, offset) => `tonumber(ARGV[${at + 1 + offset}])`)
    const reply = 2 + REPLY_PER_POLICY * index
    // In a shared key one enforced policy has all be charged; else all must fit.
    const fitting = isShared
      ? `if enforced then enforcing = true end
  if not fits then
    unfit = true
    if enforced then go = false end
  end
  if cost > 0 then $charge = cost end`
      : `if fits then
    $charge = cost > 0 and cost
  elseif enforced then
    go = false
  end`
    return `${isShared ? `if ARGV[${at}] ~= '-' then` : 'do'}
  -- ${policy.algorithm.id} ${policy.params.join(' ')}
  local enforced, ${names.join(', ')} = ARGV[${at}] == 'e', ${values.join(', ')}
  if not (${names.map((name) => isWhole(name)).join(' and ')}) then error('bad argument') end
  local fits, available, reset, retry, wait = false, 0, 0, 0, 0
  ${indent(fragments[member]?.check ?? '')}
  ${fitting}
  reply[${reply}] = fits and 1 or 0
  reply[${reply + 1}] = available > 0 and available or 0
  reply[${reply + 2}], reply[${reply + 3}] = reset, fits and wait or retry
end`
  })
  return `if ${takesPart} then
  k = k + 1
  local key = KEYS[k]
  $key = key
  ${isShared ? 'local enforcing, unfit = false, false' : ''}
  ${indent(fragments[0]?.read ?? '')}
  ${checks.map(indent).join('\n  ')}
  ${isShared ? 'if unfit and not enforcing then $charge = nil end' : ''}
end`
}

function addOf(
  count: number,
  { members, fragments: [lua] }: Group,
  positions: readonly number[],
  reserving: boolean,
): string {
  const done = members.map((index) => {
    const reply = 2 + REPLY_PER_POLICY * index
    const position = 2 + REPLY_PER_POLICY * count + index
    const told = `reply[${reply}] = reply[${reply}] + 2${reserving ? ` reply[${position}] = ${lua?.position}` : ''}`
    return members.length > 1 ? `if ARGV[${positions[index]}] ~= '-' then ${told} end` : told
  })
  return `if $charge then
  local key, cost = $key, $charge
  ${indent(lua?.add ?? '')}
  ${done.join('\n  ')}
end`
}

/** Indents all lines but the first. */
export const indent = (text: string, by = 2): string =>
  text.trim().replaceAll('\n', `\n${' '.repeat(by)}`)
