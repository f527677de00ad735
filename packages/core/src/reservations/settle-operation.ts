import type { Settlement, SettlementTwins } from '../algorithms/algorithm.ts'
import type { PolicyRule } from '../policies/policy.ts'
import type { MarkedCharge, Operation, StateMap, StoreRequest } from '../stores/store.ts'
import type { LuaOperationKind } from '../lua/twins.ts'
import { CLOCK, indent, isWhole } from '../lua/program.ts'
import { layoutOf } from '../lua/call.ts'

/** The correction of one charge. The mark says how much was charged, and where. */
export interface Correction extends Pick<
  Settlement,
  'id' | 'limit' | 'burst' | 'params' | 'actual'
> {
  readonly policy: PolicyRule
  /** The position of `policy` among the limiter's. */
  readonly index: number
  /** Its position among those of the limiter that reserved. */
  readonly markIndex: number
  readonly key: string
  /** Units charged, as far as the caller knows. */
  readonly reserved: number
}

/** The result of settling: the units charged by each correction (below 0: given back), … */
export type SettleResult =
  | {
      readonly applied: readonly number[]
      /** True if all of it had been given back before, by a release. */
      readonly wasReleased: boolean
    }
  /** … or the units that an earlier settlement has charged so, by position in the limiter that reserved. */
  | { readonly before: ReadonlyMap<number, number> }

/** Charges to correct in one step. */
export interface SettleRequest extends Pick<
  StoreRequest,
  'policies' | 'id' | 'now' | 'clockIsInjected'
> {
  /** The key of the mark. If the mark is gone, nothing is done. */
  readonly mark: string
  /** At most one for each key. */
  readonly corrections: readonly Correction[]
  /** True if the charges were made in this process's memory. */
  readonly isLocal: boolean
  /** The key of the list of open reservations to remove it from. */
  readonly openKey?: string | undefined
  /** True to release it: a later settlement charges what was used. */
  readonly isRelease: boolean
}

/** The time for which Redis remembers a settlement, so that one whose reply was lost can be repeated. */
const REMEMBERED_MS = 60_000

/** The time for which a released reservation can be settled late. */
const RELEASED_MS = 86_400_000

/** The mark of a released reservation. */
const RELEASED = 'r'

/** Returns the twins that correct the charges of a policy. */
type SettlementOf = (policy: PolicyRule) => SettlementTwins

type Settle = LuaOperationKind<SettleResult | undefined, SettleRequest>

/** Creates the kind of operation that settles charges of policies with these twins. */
export const settleKind = (settlementOf: SettlementOf): Settle => ({
  name: 'settle',
  run: (states, { data }) => settleInMemory(states, data, settlementOf),
  lua: {
    shape: ({ policies }) => layoutOf(policies).shape,
    script: ({ policies }) => settlingScript(policies, settlementOf),
    args: (data) => scriptArgs(data, settlementOf),
    parse: parseReply,
  },
})

/**
 * Creates the operation that corrects the charges of a mark, and leaves in the mark what it has done. Its result
 * is `undefined` if there was no mark and nothing was done.
 */
export function settleOperation(
  kind: Settle,
  {
    startedAt,
    onFault,
    ...data
  }: SettleRequest & { readonly startedAt: number; readonly onFault: () => void },
): Operation<SettleResult | undefined, SettleRequest> {
  const { mark, corrections, openKey, isLocal } = data
  // The script takes keys in the order of the policies. The charges may have another order.
  const inOrder = corrections.toSorted((a, b) => a.index - b.index)
  return {
    kind,
    keys: [mark, ...inOrder.map(({ key }) => key), ...(openKey ? [openKey] : [])],
    data,
    startedAt,
    localMark: isLocal ? mark : undefined,
    onFault,
  }
}

/** Open reservations by id, as a store in memory keeps them. */
interface OpenList {
  readonly open: Map<string, unknown>
}

/**
 * The latest settlements of stores in memory, by mark. Beside the stores, so that they do not displace the
 * marks of open reservations.
 */
const latest = new Map<string, ReadonlyMap<number, number>>()

const MAX_LATEST = 10_000

function remember(mark: string, settled: ReadonlyMap<number, number>): void {
  latest.set(mark, settled)
  const [oldest = mark] = latest.keys()
  if (latest.size > MAX_LATEST) latest.delete(oldest)
}

function settleInMemory(
  states: StateMap,
  { mark, corrections, now, id, openKey, isRelease }: SettleRequest,
  settlementOf: SettlementOf,
): SettleResult | undefined {
  const list = openKey && (states.get(openKey, now) as OpenList | undefined)
  if (list) list.open.delete(id)
  const marked = states.get(mark, now) as readonly MarkedCharge[] | typeof RELEASED | undefined
  const wasReleased = marked === RELEASED
  if (wasReleased && isRelease) return { before: new Map() }
  if (marked === undefined) {
    const before = latest.get(mark)
    return before && { before }
  }
  if (isRelease) states.set(mark, { state: RELEASED, expiresAt: now + RELEASED_MS })
  else states.delete(mark)
  const applied = corrections.map((correction) => {
    const { key, policy, markIndex, actual } = correction
    const charge = wasReleased ? undefined : marked.find(({ index }) => index === markIndex)
    const { units: reserved, position } = charge ?? { units: 0, position: 0 }
    if (reserved === actual) return 0
    const settlement = { ...correction, reserved, position }
    const corrected = settlementOf(policy).settle(states.get(key, now) as never, settlement, now)
    if (corrected) states.set(key, corrected)
    return corrected?.applied ?? 0
  })
  if (!isRelease) {
    remember(mark, new Map(corrections.map(({ markIndex }, at) => [markIndex, applied[at] ?? 0])))
  }
  return { applied, wasReleased }
}

/** The position of the first policy's first argument in ARGV, and the number of arguments per policy. */
const FIRST_ARG = 6
const ARGS_PER_POLICY = 5

function scriptArgs(request: SettleRequest, settlementOf: SettlementOf): string[] {
  const { policies, corrections, id, now, clockIsInjected, isLocal, openKey, isRelease } = request
  // Units that another store has charged are not known here.
  const needsTime = corrections.some(
    ({ policy, reserved, actual }) =>
      isLocal || openKey || actual > reserved || settlementOf(policy).needsTime,
  )
  // What is likely to be done, in the order of the script, which writes it again only if it does something else.
  const settled = corrections
    .toSorted((a, b) => a.index - b.index)
    .map(({ markIndex, reserved, actual }) => `${markIndex}:${actual - reserved}`)
  const clock = clockIsInjected ? 'injected' : needsTime ? 'own' : 'none'
  const left = isRelease ? RELEASED : `s${settled.join()}`
  const args = [String(now), clock, id, left, openKey ? '1' : '0']
  for (const index of policies.keys()) {
    const correction = corrections.find((candidate) => candidate.index === index)
    if (correction) {
      const { limit, burst, markIndex, actual } = correction
      args.push('1', ...[limit, burst, markIndex, actual].map(String))
    } else {
      for (let times = 0; times < ARGS_PER_POLICY; times += 1) args.push('-')
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
    return {
      result: { before: new Map(pairs.map(([, at, units]) => [Number(at), Number(units)])) },
    }
  }
  if (!Array.isArray(reply) || !reply.every(Number.isInteger)) return undefined
  const [settled, ...applied] = reply as number[]
  if (settled === 0) return { result: undefined }
  const wasReleased = settled === 2
  if ((settled !== 1 && !wasReleased) || applied.length !== policies.length) return undefined
  return { result: { applied: corrections.map(({ index }) => applied[index] ?? 0), wasReleased } }
}

/**
 * Returns the script that settles charges of these policies, once: the first call replaces the mark. From
 * then on, a correction that fails, such as of a key that holds something else, must not prevent the
 * others. So it is caught, and reported at the end.
 *
 * KEYS: the mark, and the key of each correction. ARGV: the time, the clock, the id, what to leave in the
 * mark, whether the last key is a list of open reservations; then five for each policy: `1`, or `-` without a correction; limit, burst, the place in the mark, actual.
 */
function settlingScript(policies: readonly PolicyRule[], settlementOf: SettlementOf): string {
  const parts = policies.map((policy, index) => {
    const at = FIRST_ARG + ARGS_PER_POLICY * index
    return `if ARGV[${at}] ~= '-' then
  k = k + 1
  local applied = 0
  local done = pcall(function()
    local key, reserved, position = KEYS[k], unpack(charges[ARGV[${at + 3}]] or { 0, 0 })
    local limit, burst, actual = tonumber(ARGV[${at + 1}]), tonumber(ARGV[${at + 2}]), tonumber(ARGV[${at + 4}])
    if actual == reserved then return end
    ${indent(settlementOf(policy).lua(policy.params), 4)}
  end)
  failed = failed or not done
  reply[${index + 2}] = applied
  settled[#settled + 1] = string.format('%s:%.0f', ARGV[${at + 3}], applied)
end`
  })
  const placeholders = policies.map(() => '0')
  return `${CLOCK}local id, k, failed = ARGV[3], 1, false
for at = ${FIRST_ARG}, #ARGV do
  local number = tonumber(ARGV[at])
  if ARGV[at] ~= '-' and not (${isWhole('number', '2^53')}) then error('bad argument') end
end
if ARGV[5] == '1' then redis.call('HDEL', KEYS[#KEYS], id) end
local lasting = ARGV[4] == 'r' and ${RELEASED_MS} or ${REMEMBERED_MS}
local mark = redis.call('SET', KEYS[1], ARGV[4], 'XX', 'GET', 'PX', lasting)
if not mark then return { 0 } end
if string.sub(mark, 1, 1) == 's' or mark == ARGV[4] then
  if mark ~= ARGV[4] then redis.call('SET', KEYS[1], mark, 'PX', ${REMEMBERED_MS}) end
  return mark
end
local reply = { mark == 'r' and 2 or 1, ${placeholders.join(', ')} }
local charges, settled = {}, {}
for index, units, position in string.gmatch(mark, '(%d+)=(%d+):(%d+)') do
  charges[index] = { tonumber(units), tonumber(position) }
end
${parts.join('\n')}
settled = 's' .. table.concat(settled, ',')
if ARGV[4] ~= 'r' and settled ~= ARGV[4] then redis.call('SET', KEYS[1], settled, 'PX', ${REMEMBERED_MS}) end
if failed then return redis.error_reply('ERR a charge could not be corrected') end
return reply
`
}
