import type { Settlement } from '../algorithms/algorithm.ts'
import type { PolicyRule } from '../policies/policy.ts'
import type { StateMap, Operation, StoreRequest } from '../stores/store.ts'
import { settlementOf } from './settlements.ts'
import { CLOCK, indent, isWhole } from '../stores/upstash/script.ts'
import { layoutOf } from '../stores/upstash/script-call.ts'

/** The correction of one charge. */
export interface Correction extends Settlement {
  readonly policy: PolicyRule
  /** The position of `policy` among the limiter's. */
  readonly index: number
  readonly key: string
}

/** Charges to correct in one step. */
export interface SettleRequest extends Pick<
  StoreRequest,
  'policies' | 'id' | 'now' | 'clockIsInjected' | 'startedAt'
> {
  /** The key of the mark. If the mark is gone, nothing is done. */
  readonly mark: string
  /** At most one for each key. */
  readonly corrections: readonly Correction[]
  /** True if the charges were made in this process's memory. */
  readonly local: boolean
}

/**
 * Creates the operation that removes the mark and corrects the charges. Its result has the units charged by each
 * correction (below 0: given back), or is `undefined` if there was no mark and nothing was done.
 */
export function settleOperation(request: SettleRequest): Operation<readonly number[] | undefined> {
  const { policies, corrections, mark, startedAt, local } = request
  // The script takes keys in the order of the policies. The charges may have another order.
  const inOrder = corrections.toSorted((a, b) => a.index - b.index)
  return {
    startedAt,
    localMark: local ? mark : undefined,
    run: (states) => settleInMemory(states, request),
    lua: {
      name: `settle ${layoutOf(policies).shape}`,
      source: () => settlingScript(policies),
      keys: [mark, ...inOrder.map(({ key }) => key)],
      args: scriptArgs(request),
      parse: (reply) => parseReply(reply, request),
    },
  }
}

function settleInMemory(
  states: StateMap,
  { mark, corrections, now }: SettleRequest,
): readonly number[] | undefined {
  if (states.get(mark, now) === undefined) return undefined
  states.delete(mark)
  return corrections.map((correction) => {
    const { key, policy } = correction
    const twins = settlementOf(policy)
    const corrected = twins.settle(states.get(key, now) as never, correction, now)
    if (corrected) states.set(key, corrected)
    return corrected?.applied ?? 0
  })
}

/** The position of the first policy's first argument in ARGV, and the number of arguments per policy. */
const FIRST_ARG = 4
const ARGS_PER_POLICY = 6

function scriptArgs({ policies, corrections, id, now, clockIsInjected }: SettleRequest): string[] {
  const needsTime = corrections.some(
    ({ policy, reserved, actual }) => actual > reserved || settlementOf(policy).needsTime,
  )
  const args = [String(now), clockIsInjected ? 'injected' : needsTime ? 'own' : 'none', id]
  for (const index of policies.keys()) {
    const correction = corrections.find((candidate) => candidate.index === index)
    if (correction) {
      const { limit, burst, position, reserved, actual } = correction
      args.push('1', ...[limit, burst, position, reserved, actual].map(String))
    } else {
      for (let times = 0; times < ARGS_PER_POLICY; times += 1) args.push('-')
    }
  }
  return args
}

function parseReply(
  reply: unknown,
  { policies, corrections }: SettleRequest,
): { readonly result: readonly number[] | undefined } | undefined {
  if (!Array.isArray(reply) || !reply.every(Number.isInteger)) return undefined
  const [settled, ...applied] = reply as number[]
  if (settled === 0) return { result: undefined }
  if (settled !== 1 || applied.length !== policies.length) return undefined
  return { result: corrections.map(({ index }) => applied[index] ?? 0) }
}

/**
 * Returns the script that settles charges of these policies, once: only the call that removes the mark may. From
 * then on, a correction that fails, such as of a key that holds something else, must not prevent the
 * others. So it is caught, and reported at the end.
 *
 * KEYS: the mark, and the key of each correction. ARGV: the time, the clock, the id; then six for each
 * policy: `1`, or `-` without a correction; limit, burst, position, reserved, actual.
 */
function settlingScript(policies: readonly PolicyRule[]): string {
  const parts = policies.map((policy, index) => {
    const at = FIRST_ARG + ARGS_PER_POLICY * index
    return `if ARGV[${at}] ~= '-' then
  k = k + 1
  local applied = 0
  local done = pcall(function()
    local key = KEYS[k]
    local limit, burst, position = tonumber(ARGV[${at + 1}]), tonumber(ARGV[${at + 2}]), tonumber(ARGV[${at + 3}])
    local reserved, actual = tonumber(ARGV[${at + 4}]), tonumber(ARGV[${at + 5}])
    ${indent(settlementOf(policy).lua(policy.params), 4)}
  end)
  failed = failed or not done
  reply[${index + 2}] = applied
end`
  })
  const placeholders = policies.map(() => '0')
  return `${CLOCK}local id, k, failed = ARGV[3], 1, false
local reply = { 1, ${placeholders.join(', ')} }
for at = ${FIRST_ARG}, #ARGV do
  local number = tonumber(ARGV[at])
  if ARGV[at] ~= '-' and not (${isWhole('number', '2^53')}) then error('bad argument') end
end
if redis.call('DEL', KEYS[1]) == 0 then return { 0 } end
${parts.join('\n')}
if failed then return redis.error_reply('ERR a charge could not be corrected') end
return reply
`
}
