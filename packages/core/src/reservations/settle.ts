import type { Settlement } from '../algorithms/algorithm.ts'
import { settlementOf } from './settlements.ts'
import type { PolicyRule } from '../policies/policy.ts'
import type { StateMap, Operation, StoreRequest } from '../stores/store.ts'
import { CLOCK, indent, isWhole } from '../stores/upstash/assemble.ts'
import { layoutOf } from '../stores/upstash/protocol.ts'

/** One charge to be corrected. */
export interface SettledCharge extends Settlement {
  readonly policy: PolicyRule
  /** The position of `policy` among the limiter's. */
  readonly index: number
  readonly key: string
}

/** Charges to be corrected. */
export interface SettleRequest extends Pick<
  StoreRequest,
  'policies' | 'id' | 'now' | 'clockIsInjected' | 'startedAt'
> {
  /** The key of the mark: without it nothing is done. */
  readonly mark: string
  /** At most one of each key. */
  readonly charges: readonly SettledCharge[]
  /** True if they were made in this process's memory. */
  readonly local: boolean
}

/**
 * Removes the mark and corrects the charges. The result is, for each, the units that were charged
 * (below 0: given back), or `undefined` if there was no mark and nothing was done.
 */
export function settling(request: SettleRequest): Operation<readonly number[] | undefined> {
  const { policies, charges, mark, startedAt, local } = request
  // The script takes keys in the order of the policies, which may be another one than the charges'.
  const inOrder = charges.toSorted((one, other) => one.index - other.index)
  return {
    startedAt,
    localMark: local ? mark : undefined,
    run: (states) => settleIn(states, request),
    lua: {
      name: `settle ${layoutOf(policies).shape}`,
      source: () => settlingScript(policies),
      keys: [mark, ...inOrder.map(({ key }) => key)],
      args: argsOf(request),
      parse: (reply) => readSettled(reply, request),
    },
  }
}

function settleIn(
  states: StateMap,
  { mark, charges, now }: SettleRequest,
): readonly number[] | undefined {
  if (states.get(mark, now) === undefined) return undefined
  states.delete(mark)
  return charges.map((charge) => {
    const { key, policy } = charge
    const twins = settlementOf(policy)
    const kept = twins.settle(states.get(key, now) as never, charge, now)
    if (kept) states.set(key, kept)
    return kept?.applied ?? 0
  })
}

/** The first of the policies' ARGV, and how many each has. */
const FIRST_ARG = 4
const ARGS_PER_POLICY = 6

function argsOf({ policies, charges, id, now, clockIsInjected }: SettleRequest): string[] {
  const needsTime = charges.some(
    ({ policy, reserved, actual }) => actual > reserved || settlementOf(policy).needsTime,
  )
  const args = [String(now), clockIsInjected ? 'injected' : needsTime ? 'own' : 'none', id]
  for (const index of policies.keys()) {
    const charge = charges.find((one) => one.index === index)
    if (charge) {
      const { limit, burst, position, reserved, actual } = charge
      args.push('1', ...[limit, burst, position, reserved, actual].map(String))
    } else {
      for (let times = 0; times < ARGS_PER_POLICY; times += 1) args.push('-')
    }
  }
  return args
}

function readSettled(
  reply: unknown,
  { policies, charges }: SettleRequest,
): { readonly result: readonly number[] | undefined } | undefined {
  if (!Array.isArray(reply) || !reply.every(Number.isInteger)) return undefined
  const [done, ...applied] = reply as number[]
  if (done === 0) return { result: undefined }
  if (done !== 1 || applied.length !== policies.length) return undefined
  return { result: charges.map(({ index }) => applied[index] ?? 0) }
}

/**
 * The script that settles charges of these policies, once: only who removes the mark may. Nothing may
 * fail between that and the last correction: one that does not work, such as of a key that holds
 * something else, must not keep the others from being made, and is told at the end.
 *
 * KEYS: the mark's, and one for each charge. ARGV: the time, the clock, the id, then six for each
 * policy: `-` or 1, limit, burst, position, reserved, actual.
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
