import type { PolicyRule } from '../../policies/policy.ts'
import type { SettleRequest, StoreReply, StoreRequest, Verdict, WriteRequest } from '../store.ts'
import { argsOf, groupsOf, REPLY_PER_POLICY, SETTLE_ARGS_PER_POLICY } from './assemble.ts'
import { badReply, type Command } from './transport.ts'

type MutableCommand = (string | number)[]

const groupsByPolicies = new WeakMap<readonly PolicyRule[], ReturnType<typeof groupsOf>>()

/** The keys of the entries, one for each group that takes part, in the script's order. */
function pushKeys({ policies, entries }: StoreRequest, prefix: string, call: MutableCommand): void {
  let groups = groupsByPolicies.get(policies)
  if (groups === undefined) groupsByPolicies.set(policies, (groups = groupsOf(policies)))
  if (groups.length === policies.length) {
    for (const { key } of entries) call.push(prefix + key)
    return
  }
  for (const members of groups) {
    const entry = entries.find(({ index }) => members.includes(index))
    if (entry) call.push(prefix + entry.key)
  }
}

function pushClock(
  { now, clockIsInjected }: Pick<StoreRequest, 'now' | 'clockIsInjected'>,
  call: MutableCommand,
  needsTime = true,
): void {
  call.push(String(now), clockIsInjected ? 'injected' : needsTime ? 'own' : 'none')
}

/** What follows `EVALSHA` and the digest: how many keys, the keys, ARGV. `prefix` begins each key. */
export function checkCall(request: StoreRequest, prefix: string): Command {
  const { policies, entries, reads, mark } = request
  const call: MutableCommand = [0]
  pushKeys(request, prefix, call)
  for (const { key } of reads) call.push(prefix + key)
  if (mark) call.push(prefix + mark.key)
  call[0] = call.length - 1
  pushClock(request, call)
  call.push(request.id)
  let next = 0
  for (let index = 0; index < policies.length; index += 1) {
    const entry = entries[next]
    const names = argsOf(policies[index] as PolicyRule)
    if (entry?.index === index) {
      next += 1
      call.push(entry.enforced ? 'e' : 's')
      // As text: JSON has no NaN, and the script is to refuse it.
      for (const name of names) call.push(String(entry[name]))
    } else {
      call.push('-')
      for (let times = names.length; times > 0; times -= 1) call.push('')
    }
  }
  call.push(request.apply ? '1' : '0')
  if (mark) call.push(String(mark.ttlMs))
  for (const { field } of reads) call.push(field)
  return call
}

/** Reads the answer to a check. @throws StoreError `store_bad_reply` unless it is one to `request`. */
export function readCheck(reply: unknown, request: StoreRequest): StoreReply {
  const { policies, entries, reads, mark } = request
  const states = 1 + REPLY_PER_POLICY * policies.length
  const numbers = states + (mark ? policies.length : 0)
  if (!Array.isArray(reply) || reply.length !== numbers + reads.length) throw badReply()
  const values = reply as unknown[]
  for (let at = 0; at < values.length; at += 1) {
    const value = values[at]
    if (at < numbers ? !Number.isInteger(value) : value !== null && typeof value !== 'string') {
      throw badReply()
    }
  }
  const found = values as number[]
  const verdicts = entries.map(({ index }): Verdict => {
    const at = 1 + REPLY_PER_POLICY * index
    const state = found[at] ?? 0
    const waitMs = found[at + 3] ?? 0
    return {
      fits: state > 0,
      charged: state === 2,
      available: found[at + 1] ?? 0,
      resetMs: found[at + 2] ?? 0,
      retryMs: state > 0 ? 0 : waitMs,
      waitMs: state > 0 ? waitMs : 0,
      position: mark ? (found[states + index] ?? 0) : 0,
    }
  })
  const read =
    reads.length === 0
      ? []
      : values.slice(numbers).map((value) => (value ?? undefined) as string | undefined)
  return { source: 'store', now: found[0] ?? 0, verdicts, read }
}

/** What follows `EVALSHA` and the digest of the settling script. */
export function settleCall(request: SettleRequest, prefix: string): Command {
  const { policies, charges, mark, id } = request
  const call: MutableCommand = [1 + charges.length, prefix + mark]
  // The script takes keys in the order of the policies, which may be another one than the charges'.
  const ordered = charges.toSorted((one, other) => one.index - other.index)
  for (const { key } of ordered) call.push(prefix + key)
  const needsTime = charges.some(
    ({ policy, params, reserved, actual }) =>
      actual > reserved || policy.algorithm.lua(params).settleNeedsTime === true,
  )
  pushClock(request, call, needsTime)
  call.push(id)
  for (const index of policies.keys()) {
    const charge = charges.find((one) => one.index === index)
    if (charge) {
      const { limit, burst, position, reserved, actual } = charge
      call.push('1', ...[limit, burst, position, reserved, actual].map(String))
    } else {
      call.push('-')
      for (let times = 1; times < SETTLE_ARGS_PER_POLICY; times += 1) call.push('-')
    }
  }
  return call
}

/** Reads the answer to a settlement. @throws StoreError `store_bad_reply` unless it is one. */
export function readSettled(
  reply: unknown,
  { policies, charges }: SettleRequest,
): readonly number[] | undefined {
  if (!Array.isArray(reply) || !reply.every(Number.isInteger)) throw badReply()
  const [done, ...applied] = reply as number[]
  if (done === 0) return undefined
  if (done !== 1 || applied.length !== policies.length) throw badReply()
  return charges.map(({ index }) => applied[index] ?? 0)
}

/** What follows `EVALSHA` and the digest of the writing script. */
export function writeCall({ writes, condition }: WriteRequest, prefix: string): Command {
  const keys = writes.map(({ key }) => prefix + key)
  if (condition) keys.unshift(prefix + condition.key)
  const call: MutableCommand = [keys.length, ...keys]
  if (condition)
    call.push(condition.is === undefined ? '2' : '1', condition.field, condition.is ?? '')
  else call.push('0')
  for (const { set, ttlMs } of writes) {
    const fields = Object.entries(set).flat()
    call.push(String(ttlMs ?? 0), String(fields.length), ...fields)
  }
  return call
}

/** Reads the answer to a write. @throws StoreError `store_bad_reply` unless it is one. */
export function readWritten(reply: unknown): boolean {
  if (reply === 1 || reply === 0) return reply === 1
  throw badReply()
}
