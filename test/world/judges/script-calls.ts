/*
 * Reads script calls as they pass on the wire: which keys, for whom, at what cost, and what was replied. Written
 * from the order of arguments that docs/architecture and the golden script show; no code of the product is used.
 */
import type { GrantCall } from './balances.ts'
import { isBucket, type Rule } from './rules.ts'

/** A policy's part of a decision. */
export interface Row {
  readonly index: number
  readonly rule: Rule
  readonly key: string
  readonly enforced: boolean
  readonly limit: number
  readonly burst: number
  readonly cost: number
  /** As replied. */
  readonly fits: boolean
  readonly charged: boolean
  readonly available: number
  readonly retryMs: number
  /** Of a calendar: the ends that the caller knows. */
  readonly ends?: readonly number[]
  /** Of credits: the time for which units are held, 0 if they are spent at once. */
  readonly holdMs?: number
  /** Of a line: who asks, '0' without a place. */
  readonly ticket?: string | undefined
  /** Of shares: who asks. */
  readonly asker?: { readonly member: string; readonly weight: number; readonly guarantee: number }
}

/** A decision that a script has made. */
export interface Decided {
  readonly id: string
  readonly now: number
  readonly apply: boolean
  /** True if a record is not as the caller has read it, so nothing may be charged. */
  readonly isOutdated: boolean
  readonly rows: readonly Row[]
  /** The policies of the call. */
  readonly rules: readonly Rule[]
  /** True if it is the first step of charging what was used beyond a lease, which any limit lets in. */
  readonly isOverrun: boolean
  /** The key that notes the charges, if they may be settled. */
  readonly mark: string | undefined
}

/** A correction of one charge. */
interface Corrected {
  readonly key: string
  readonly markIndex: number
  readonly actual: number
  readonly applied: number
  /** Of a calendar: the ends that the reservation knows. */
  readonly ends?: readonly number[]
}

export interface SettledCall {
  readonly id: string
  readonly isRelease: boolean
  /** True if Redis decides by its own time what has left its window. */
  readonly isOwnClock: boolean
  /** Undefined if there was no mark, or it was settled before. */
  readonly corrections: readonly Corrected[] | undefined
  readonly wasReleased: boolean
}

export type ScriptKind =
  'decision' | 'decisions' | 'settlement' | 'stand' | 'leave' | 'grant' | 'other'

/** Tells what a script does by its text. */
export function kindOf(text: string): ScriptKind {
  if (text.includes('local decide = function')) return 'decisions'
  if (text.includes('local id, k, go = ARGV[3]')) return 'decision'
  if (text.includes('local function waitOf(')) return 'stand'
  if (text.includes('leaveLine(KEYS[1]')) return 'leave'
  if (text.includes("changed('grant_differs')")) return 'grant'
  return text.includes('local lasting = ') ? 'settlement' : 'other'
}

export const hasMark = (text: string): boolean => text.includes('reply.mark')

const hasCalendar = ({ kind, calendar }: Rule): boolean =>
  kind === 'daily' && calendar !== undefined

const numbersOf = (rule: Rule): number =>
  rule.kind === 'share'
    ? 5
    : rule.kind === 'line'
      ? 4
      : isBucket(rule) || rule.kind === 'credits'
        ? 3
        : hasCalendar(rule)
          ? 6
          : 2

/** The number of arguments up to the one that says whether to charge. */
const lengthOf = (rules: readonly Rule[]): number =>
  rules.reduce((sum, rule) => sum + 1 + numbersOf(rule), 3)

/** Reads one decision of policies in this order. */
export function readDecision(
  all: readonly Rule[],
  keys: readonly string[],
  args: readonly string[],
  reply: readonly unknown[],
  isMarked: boolean,
): Decided {
  const isOverrun = !['0', '1'].includes(args[lengthOf(all)] ?? '')
  const rules = isOverrun
    ? all.filter(({ name, leaseMs }) => leaseMs > 0 && keys[0]?.includes(`:${name}:`))
    : all
  const rows: Row[] = []
  let [at, next] = [3, 0]
  let keyOfLog: { log: string; key: string } | undefined
  for (const [index, rule] of rules.entries()) {
    const numbers = numbersOf(rule)
    const [flag, ...given] = args.slice(at, at + 1 + numbers)
    at += 1 + numbers
    if (flag === '-') continue
    let key: string
    if (rule.log !== undefined && keyOfLog?.log === rule.log) key = keyOfLog.key
    else {
      key = keys[next] ?? ''
      next += 1
      if (rule.log !== undefined) keyOfLog = { log: rule.log, key }
    }
    const [state = 0, available = 0, , retryMs = 0] = reply.slice(1 + 4 * index) as number[]
    rows.push({
      index,
      rule,
      key,
      enforced: flag === 'e',
      limit: Number(given[0]),
      burst: Number(given[numbers - 2]),
      cost: Number(given.at(-1)),
      fits: state % 2 === 1,
      charged: state > 1,
      available,
      retryMs,
      ...(hasCalendar(rule) && { ends: given.slice(1, 4).map(Number) }),
      ...(rule.kind === 'credits' && { holdMs: Number(given[1]) }),
      ...(rule.kind === 'line' && { ticket: given[1] }),
      ...(rule.kind === 'share' && {
        asker: { member: given[1] ?? '', weight: Number(given[2]), guarantee: Number(given[3]) },
      }),
    })
  }
  return {
    id: args[2] ?? '',
    now: Number(reply[0]),
    apply: args[at] === '1',
    isOutdated: isOutdated(args.slice(at + 1), reply.slice(1 + 4 * rules.length)),
    rows,
    rules,
    isOverrun,
    mark: isMarked ? keys.at(-1) : undefined,
  }
}

/** The fields of records that a decision reads. */
const FIELDS = new Set(['settings', 'version', 'plan', 'state'])

/**
 * Reads whether a record has another value than the caller expects: its field and that value stand after the arguments
 * of the mark, and what it is stands at the end of the reply, after what was granted. Any value is `*`, none is empty.
 */
function isOutdated(args: readonly string[], reply: readonly unknown[]): boolean {
  const values = reply.filter((value) => typeof value !== 'number')
  const first = args.findIndex((_, at) =>
    values.every((__, index) => FIELDS.has(args[at + 2 * index] ?? '')),
  )
  return values.some((value, index) => {
    const expected = args[first + 2 * index + 1]
    return expected !== '*' && expected !== (value ?? '')
  })
}

/** Takes a call that makes several decisions apart: the keys and arguments of each. */
export function splitCall(
  keys: readonly string[],
  args: readonly string[],
): { keys: string[]; args: string[] }[] {
  const calls: { keys: string[]; args: string[] }[] = []
  let at = 1
  while (at < args.length) {
    const count = Number(args[at])
    const own = args.slice(at + 1, at + 1 + count).map((place) => keys[Number(place) - 1] ?? '')
    at += count + 1
    const length = Number(args[at])
    const given = args.slice(at + 1, at + 1 + length)
    at += length + 1
    // Only the id differs from the call before.
    const before = calls.at(-1)?.args
    calls.push({ keys: own, args: length === 1 && before ? before.with(2, given[0] ?? '') : given })
  }
  return calls
}

/**
 * Reads a settlement. Each policy has five arguments, with a calendar four more, and a key if its charge is corrected.
 * Leases correct their own policies alone.
 */
export function readSettlement(
  keys: readonly string[],
  args: readonly string[],
  reply: unknown,
  rules: readonly Rule[],
): SettledCall {
  const call = { id: args[2] ?? '', isRelease: args[3] === 'r', isOwnClock: args[1] === 'own' }
  if (!Array.isArray(reply) || reply[0] === 0) {
    return { ...call, corrections: undefined, wasReleased: false }
  }
  const corrections: Corrected[] = []
  const isWithout = args.length === 5 + 5 * (reply.length - 1)
  let at = 5
  for (let row = 0; at < args.length; row += 1) {
    const rule = rules[row]
    const isDated = !isWithout && rule !== undefined && hasCalendar(rule)
    const [flag, , , markIndex, actual, ...times] = args.slice(at, at + (isDated ? 9 : 5))
    at += isDated ? 9 : 5
    if (flag === '-') continue
    corrections.push({
      key: keys[1 + corrections.length] ?? '',
      markIndex: Number(markIndex),
      actual: Number(actual),
      applied: Number(reply[1 + row]),
      ...(isDated && { ends: times.slice(0, 3).map(Number) }),
    })
  }
  return { ...call, corrections, wasReleased: reply[0] === 2 }
}

/** Reads a grant of credits. */
export function readGrant(
  [key = '']: readonly string[],
  [, , id = '', units, at]: readonly string[],
  reply: readonly unknown[],
): GrantCall {
  const [outcome, , , available, held, debt] = reply
  const told = { available: Number(available), held: Number(held), debt: Number(debt) }
  return { key, id, units: Number(units), at: Number(at), outcome: String(outcome), ...told }
}

/** Reads what a mark notes: the units that were charged, by the position of the policy. */
export const readMark = (text: string): Map<number, number> =>
  new Map(
    [...text.matchAll(/(\d+)=(\d+):\d+/g)].map(([, index, units]) => [
      Number(index),
      Number(units),
    ]),
  )
