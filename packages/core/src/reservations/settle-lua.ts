import type { PolicyRule } from '../policies/policy.ts'
import type { LuaTwin } from '../lua/twins.ts'
import type { SettlementOf, SettleRequest, SettleResult } from './settle-request.ts'
import { layoutOf } from '../lua/call.ts'
import { argument, LAST_KEY } from '../lua/expressions.ts'
import { CLOCK, indent, isWhole } from '../lua/program.ts'
import { RELEASED, RELEASED_MS, SETTLED_MS } from './settle-request.ts'

/** The position of the first policy's first argument in ARGV. */
const FIRST_ARG = 6

/** The numbers of a correction in ARGV, after the argument that says whether there is one. */
const numbersOf = ({ calendar }: PolicyRule): readonly string[] => [
  'limit',
  'burst',
  'markIndex',
  'actual',
  ...(calendar?.times ?? []),
]

// The arguments of the whole settlement.
const ID = 'ARGV[3]'
const LEFT = 'ARGV[4]'
const ATTEMPT = 'ARGV[5]'

/** The start of the mark of a settlement after a release. */
const LATE = 'sr'

/** Creates the Lua twin that settles charges of policies with these twins. */
export const settlingLua = (
  settlementOf: SettlementOf,
): LuaTwin<SettleResult | undefined, SettleRequest> => ({
  shape: ({ policies }) => layoutOf(policies).shape,
  script: ({ policies }) => settlingScript(policies, settlementOf),
  args: (data) => scriptArgs(data, settlementOf),
  parse: parseReply,
})

function scriptArgs(request: SettleRequest, settlementOf: SettlementOf): string[] {
  const { policies, corrections, id, now, clockIsInjected, isLocal, openKey, isRelease, attempt } =
    request
  // Units that another store has charged are not known here.
  const needsTime = corrections.some(
    ({ policy, reserved, actual }) =>
      isLocal || openKey || actual > reserved || settlementOf(policy).needsTime,
  )
  // The likely result, in the order of the script, which writes it again only if the result differs.
  const settled = corrections
    .toSorted((a, b) => a.index - b.index)
    .map(({ markIndex, reserved, actual }) => `${markIndex}:${actual - reserved}`)
  const clock = clockIsInjected ? 'injected' : needsTime ? 'own' : 'none'
  const left = isRelease ? RELEASED : `s${settled.join()}`
  const args = [String(now), clock, id, left, (openKey ? '+' : '') + attempt]
  for (const [index, policy] of policies.entries()) {
    const correction = corrections.find((candidate) => candidate.index === index)
    args.push(correction ? '1' : '-')
    for (const name of numbersOf(policy)) {
      // Data without the numbers of a calendar may be of an older deploy.
      args.push(correction ? String(correction[name as 'limit'] ?? 0) : '-')
    }
  }
  return args
}

function parseReply(
  reply: unknown,
  { policies, corrections }: SettleRequest,
): { readonly result: SettleResult | undefined } | undefined {
  if (typeof reply === 'string') {
    const pairs = [...reply.matchAll(/(\d+):(-?\d+)/g)]
    const before = new Map(pairs.map(([, at, units]) => [Number(at), Number(units)]))
    const attempt = reply.replace(/.* \+?/, '')
    return { result: { before, attempt, wasReleased: reply.startsWith(LATE) } }
  }
  if (!Array.isArray(reply) || !reply.every(Number.isInteger)) return undefined
  const [settled, ...applied] = reply as number[]
  if (settled === 0) return { result: undefined }
  const wasReleased = settled === 2
  if ((settled !== 1 && !wasReleased) || applied.length !== policies.length) return undefined
  return { result: { applied: corrections.map(({ index }) => applied[index] ?? 0), wasReleased } }
}

/** Lua that names the numbers of a calendar. */
const luaTimes = ({ calendar }: PolicyRule, times: readonly string[]): string =>
  calendar
    ? `local ${calendar.times.join(', ')} = ${times.map((value) => `tonumber(${value})`).join(', ')}\n`
    : ''

/**
 * Returns the script that settles charges of these policies, once: the first call replaces the mark. From
 * then on, a correction that fails, such as of a key that holds something else, must not prevent the
 * others. So it is caught, and reported at the end; if nothing was corrected, it can be settled again.
 *
 * KEYS: the mark, and the key of each correction. ARGV: the time, the clock, the id, what to leave in the
 * mark, the attempt after a `+` if the last key is a list of open reservations; then the numbers for each policy.
 */
function settlingScript(policies: readonly PolicyRule[], settlementOf: SettlementOf): string {
  let nextArg = FIRST_ARG
  const parts = policies.map((policy, index) => {
    // The first is `-` for a policy without a correction.
    const count = 1 + numbersOf(policy).length
    const given = Array.from({ length: count }, (_, at) => argument(nextArg + at))
    const [first, limit, burst, markIndex, actual, ...times] = given
    nextArg += count
    return `if ${first} ~= '-' then
  k = k + 1
  local applied = 0
  local done = pcall(function()
    local key, reserved, position = KEYS[k], unpack(charges[${markIndex}] or { 0, 0 })
    local limit, burst, actual = tonumber(${limit}), tonumber(${burst}), tonumber(${actual})
    ${policy.algorithm.traits?.balance ? '' : 'if actual == reserved then return end'}
    ${indent(luaTimes(policy, times) + settlementOf(policy).lua(policy.params), 4)}
  end)
  failed = failed or not done
  changed = changed or ${policy.algorithm.traits?.balance ? 'done' : 'applied ~= 0'}
  reply[${index + 2}] = applied
  settled[#settled + 1] = string.format('%s:%.0f', ${markIndex}, applied)
end`
  })
  const placeholders = policies.map(() => '0')
  return `${CLOCK}local id, k, failed, changed = ${ID}, 1, false, false
for at = ${FIRST_ARG}, #ARGV do
  local number = tonumber(ARGV[at])
  if ARGV[at] ~= '-' and not (${isWhole('number', '2^53')}) then error('bad argument') end
end
if string.sub(${ATTEMPT}, 1, 1) == '+' then redis.call('HDEL', ${LAST_KEY}, id) end
local left = ${LEFT} .. ' ' .. ${ATTEMPT}
local lasting = ${LEFT} == '${RELEASED}' and ${RELEASED_MS} or ${SETTLED_MS}
local mark = redis.call('SET', KEYS[1], left, 'XX', 'GET', 'PX', lasting)
if not mark then return { 0 } end
local state = string.sub(mark, 1, 1)
if state == 's' then lasting = ${SETTLED_MS} end
if state == 's' or state == ${LEFT} then
  if mark ~= left then redis.call('SET', KEYS[1], mark, 'PX', lasting) end
  return mark
end
local reply = { state == '${RELEASED}' and 2 or 1, ${placeholders.join(', ')} }
local charges, settled = {}, {}
for index, units, position in string.gmatch(mark, '(%d+)=(%d+):(%d+)') do
  charges[index] = { tonumber(units), tonumber(position) }
end
${parts.join('\n')}
settled = (state == '${RELEASED}' and '${LATE}' or 's') .. table.concat(settled, ',') .. ' ' .. ${ATTEMPT}
if ${LEFT} ~= '${RELEASED}' and settled ~= left then redis.call('SET', KEYS[1], settled, 'PX', lasting) end
if failed then
  if not changed then redis.call('SET', KEYS[1], mark, 'PX', ${RELEASED_MS}) end
  return redis.error_reply('ERR a charge could not be corrected')
end
return reply
`
}
