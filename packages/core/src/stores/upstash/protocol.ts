import type { PolicyRule } from '../../policies/policy.ts'
import type { StoreReply, StoreRequest, Verdict } from '../store.ts'
import { badReply, type Command } from './transport.ts'

type MutableCommand = (string | number)[]

/** The numbers of one policy in the reply: its state, units available, reset, wait. */
export const REPLY_PER_POLICY = 4

/** Which of a policy's numbers are among ARGV, after the one that says whether it takes part. */
export const argsOf = ({ burst }: PolicyRule): readonly ('limit' | 'burst' | 'cost')[] =>
  burst === undefined ? ['limit', 'cost'] : ['limit', 'burst', 'cost']

/** How a script is laid out for the policies of a limiter. */
interface Layout {
  /** Names it: limiters of one shape share it, whatever their limits. */
  readonly shape: string
  /** Positions of the policies that count in one key, key by key, as the script visits them. */
  readonly groups: readonly (readonly number[])[]
}

const layouts = new WeakMap<readonly PolicyRule[], Layout>()

/** The layout for these policies. */
export function layoutOf(policies: readonly PolicyRule[]): Layout {
  const known = layouts.get(policies)
  if (known !== undefined) return known
  const byKey = new Map<object, number[]>()
  for (const [index, policy] of policies.entries()) {
    const group = byKey.get(policy.keyspace ?? policy)
    if (group) group.push(index)
    else byKey.set(policy.keyspace ?? policy, [index])
  }
  const groups = [...byKey.values()]
  const rules = policies.map(
    ({ algorithm, params, burst }) =>
      algorithm.id + (burst === undefined ? '-' : '+') + params.join('-'),
  )
  const layout = { shape: `${rules.join()} ${groups.join(' ')}`, groups }
  layouts.set(policies, layout)
  return layout
}

/** The keys of the entries, one for each group that takes part, in the script's order. */
function pushKeys({ policies, entries }: StoreRequest, prefix: string, call: MutableCommand): void {
  const { groups } = layoutOf(policies)
  if (groups.length === policies.length) {
    for (const { key } of entries) call.push(prefix + key)
    return
  }
  for (const members of groups) {
    const entry = entries.find(({ index }) => members.includes(index))
    if (entry) call.push(prefix + entry.key)
  }
}

/** The arguments after `EVALSHA` and the digest: the number of keys, the keys, ARGV. `prefix` begins each key. */
export function checkCall(request: StoreRequest, prefix: string): Command {
  const { policies, entries, reads, mark } = request
  const call: MutableCommand = [0]
  pushKeys(request, prefix, call)
  for (const { key } of reads) call.push(prefix + key)
  if (mark) call.push(prefix + mark.key)
  call[0] = call.length - 1
  call.push(String(request.now), request.clockIsInjected ? 'injected' : 'own', request.id)
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
  const parts = reply as unknown[]
  for (let at = 0; at < parts.length; at += 1) {
    const value = parts[at]
    if (at < numbers ? !Number.isInteger(value) : value !== null && typeof value !== 'string') {
      throw badReply()
    }
  }
  const integers = parts as number[]
  const verdicts = entries.map(({ index }): Verdict => {
    const at = 1 + REPLY_PER_POLICY * index
    // 1 if it fits, and 2 more if it was charged, as a shadow may be that shares a key with what is enforced.
    const state = integers[at] ?? 0
    const fits = state % 2 === 1
    const waitMs = integers[at + 3] ?? 0
    return {
      fits,
      charged: state > 1,
      available: integers[at + 1] ?? 0,
      resetMs: integers[at + 2] ?? 0,
      retryMs: fits ? 0 : waitMs,
      waitMs: fits ? waitMs : 0,
      position: mark ? (integers[states + index] ?? 0) : 0,
    }
  })
  const values =
    reads.length === 0
      ? []
      : parts.slice(numbers).map((value) => (value ?? undefined) as string | undefined)
  return { source: 'store', now: integers[0] ?? 0, verdicts, values }
}
