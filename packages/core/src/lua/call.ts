/* The arguments of the deciding script (KEYS and ARGV) for a request, and the reading of its reply. */
import type { PolicyRule } from '../policies/policy.ts'
import { badReply, type StoreReply, type StoreRequest, type Verdict } from '../stores/store.ts'
import { luaOf } from './twins.ts'

/** The arguments of a script call: the number of keys, the keys, ARGV. */
export type ScriptCall = readonly (string | number)[]

type MutableCall = (string | number)[]

/** Integers per policy in the reply: its state, available units, reset, wait. */
export const REPLY_PER_POLICY = 4

/** The numbers of a policy in ARGV, after the argument that says whether it takes part. */
export const numbersOf = ({ burst, numbers }: PolicyRule): readonly string[] =>
  numbers?.names ?? (burst === undefined ? ['limit', 'cost'] : ['limit', 'burst', 'cost'])

/** The layout of a script for the policies of a limiter. */
interface Layout {
  /** Identifies the script. Limiters whose policies differ only in limits share it. */
  readonly shape: string
  /** The positions of the policies that count in one key, key by key, in the script's order. */
  readonly groups: readonly (readonly number[])[]
}

const layouts = new WeakMap<readonly PolicyRule[], Layout>()

/** Returns the layout for these policies. */
export function layoutOf(policies: readonly PolicyRule[]): Layout {
  const known = layouts.get(policies)
  if (known !== undefined) return known
  const byKey = new Map<object, number[]>()
  for (const [index, policy] of policies.entries()) {
    const key = policy.keyspace ?? policy
    byKey.set(key, [...(byKey.get(key) ?? []), index])
  }
  const groups = [...byKey.values()]
  // Two algorithms of users, whose ids have a dot, may have one id: their text tells them apart.
  const rules = policies.map(({ algorithm, params, burst }) => [
    algorithm.id,
    burst === undefined,
    params,
    algorithm.id.includes('.') && algorithm.lua(params),
  ])
  const layout = { shape: JSON.stringify([rules, groups]), groups }
  layouts.set(policies, layout)
  return layout
}

/** Identifies the script that decides this request. */
export const scriptName = ({ policies, mark, fit }: StoreRequest): string =>
  `${mark?.kind.name} ${fit?.kind.name} ${layoutOf(policies).shape}`

/** Adds the keys of the entries: one for each group that takes part, in the script's order. */
function pushKeys({ policies, entries }: StoreRequest, prefix: string, call: MutableCall): void {
  const { groups } = layoutOf(policies)
  if (groups.length === policies.length) {
    for (const { key } of entries) call.push(prefix + key)
    return
  }
  for (const group of groups) {
    const entry = entries.find(({ index }) => group.includes(index))
    if (entry) call.push(prefix + entry.key)
  }
}

/** Returns the arguments after `EVALSHA` and the digest: the number of keys, the keys, ARGV. */
export function checkCall(request: StoreRequest, prefix: string): ScriptCall {
  const { policies, entries, reads, mark, fit } = request
  const call: MutableCall = [0]
  pushKeys(request, prefix, call)
  for (const { key } of reads) call.push(prefix + key)
  for (const key of mark?.keys ?? []) call.push(prefix + key)
  call[0] = call.length - 1
  call.push(String(request.now), request.clockIsInjected ? 'injected' : 'own', request.id)
  let next = 0
  for (let index = 0; index < policies.length; index += 1) {
    const entry = entries[next]
    const names = numbersOf(policies[index] as PolicyRule)
    if (entry?.index === index) {
      next += 1
      call.push(entry.enforced ? 'e' : 's')
      // As text, because JSON has no NaN, which the script must see to refuse it.
      for (const name of names) call.push(String(entry[name as 'cost']))
    } else {
      call.push('-', ...names.map(() => ''))
    }
  }
  call.push(request.apply ? '1' : '0')
  if (mark) call.push(...luaOf(mark).args(mark))
  for (const { field, is } of reads) call.push(field, is ?? '*')
  if (fit) call.push(...luaOf(fit).args(fit, policies))
  return call
}

/** Parses the reply to a check. @throws StoreError `store_bad_reply` if it cannot be the reply to `request`. */
export function parseCheckReply(reply: unknown, request: StoreRequest): StoreReply {
  const { policies, entries, reads, fit } = request
  const valuesAt = 1 + REPLY_PER_POLICY * policies.length + (fit ? 1 : 0)
  if (!isReply(reply, valuesAt, valuesAt + reads.length)) throw badReply()
  const integers = reply as number[]
  const verdicts = entries.map(({ index }): Verdict => {
    const [state, available, resetMs, waitMs] = integers.slice(1 + REPLY_PER_POLICY * index) as [
      number,
      number,
      number,
      number,
    ]
    // 1 if it fits, and 2 more if it was charged: a shadow that does not fit may share a charged key.
    const fits = state % 2 === 1
    return {
      fits,
      charged: state > 1,
      available,
      resetMs,
      retryMs: fits ? 0 : waitMs,
      waitMs: fits ? waitMs : 0,
    }
  })
  const values = reply.slice(valuesAt).map((value) => (value ?? undefined) as string | undefined)
  return {
    source: 'store',
    now: integers[0] as number,
    verdicts,
    values,
    granted: fit && integers[valuesAt - 1],
  }
}

/** Returns true if `reply` has integers up to `valuesAt`, and texts or null from there to `length`. */
function isReply(reply: unknown, valuesAt: number, length: number): reply is unknown[] {
  return (
    Array.isArray(reply) &&
    reply.length === length &&
    reply.every((value: unknown, at) =>
      at < valuesAt ? Number.isInteger(value) : value === null || typeof value === 'string',
    )
  )
}
