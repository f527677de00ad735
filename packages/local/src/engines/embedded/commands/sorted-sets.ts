import { at, pairs, reads, writes, type Definitions } from '../command.ts'
import type { Keyspace } from '../keyspace.ts'
import { formatDouble, parseFloatStrictly } from '../numbers.ts'
import { SortedSet } from '../sorted-set.ts'
import { Fault, SYNTAX_ERROR, type Value } from '../value.ts'
import { popCommand } from './sorted-set-ranges.ts'

export const sortedSetCommands: Definitions = {
  ZADD: writes(-4, add),
  ZINCRBY: writes(4, (keyspace, [key = '', amount = '', member = '']) =>
    add(keyspace, [key, 'INCR', amount, member]),
  ),
  ZREM: writes(-3, (keyspace, [key = '', ...members]) => {
    const set = keyspace.sortedSet(key)
    if (!set) return 0
    const removed = members.filter((member) => set.delete(member)).length
    keyspace.deleteIfEmpty(key, set)
    return removed
  }),
  ZCARD: reads(2, (keyspace, args) => keyspace.sortedSet(at(args, 0))?.size ?? 0),
  ZSCORE: reads(3, (keyspace, args) => score(keyspace.sortedSet(at(args, 0)), at(args, 1))),
  ZMSCORE: reads(-3, (keyspace, [key = '', ...members]) => {
    const set = keyspace.sortedSet(key)
    return members.map((member) => score(set, member))
  }),
  ZRANK: reads(3, (keyspace, args) => rank(keyspace, args, false)),
  ZREVRANK: reads(3, (keyspace, args) => rank(keyspace, args, true)),
  ZPOPMIN: popCommand((set, count) => set.slice(0, count)),
  ZPOPMAX: popCommand((set, count) =>
    set.slice(Math.max(0, set.size - count), set.size).toReversed(),
  ),
}

function score(set: SortedSet | undefined, member: string): string | null {
  const value = set?.score(member)
  return value === undefined ? null : formatDouble(value)
}

function rank(keyspace: Keyspace, args: string[], reverse: boolean): number | null {
  const set = keyspace.sortedSet(at(args, 0))
  const value = set?.score(at(args, 1))
  if (!set || value === undefined) return null
  const position = set.rank(at(args, 1), value)
  return reverse ? set.size - 1 - position : position
}

const FLAG_NAMES = new Set(['NX', 'XX', 'GT', 'LT', 'CH', 'INCR'])

function parseAdd(args: string[]): { flags: ReadonlySet<string>; scored: [number, string][] } {
  const flags = new Set<string>()
  let index = 0
  for (; FLAG_NAMES.has(at(args, index).toUpperCase()); index += 1) {
    flags.add(at(args, index).toUpperCase())
  }
  const has = (...names: string[]): boolean => names.every((name) => flags.has(name))
  const rest = args.slice(index)
  if (rest.length === 0 || rest.length % 2 === 1) throw new Fault(SYNTAX_ERROR)
  if (has('NX', 'XX')) {
    throw new Fault('ERR XX and NX options at the same time are not compatible')
  }
  if (has('GT', 'NX') || has('LT', 'NX') || has('GT', 'LT')) {
    throw new Fault('ERR GT, LT, and/or NX options at the same time are not compatible')
  }
  if (has('INCR') && rest.length > 2) {
    throw new Fault('ERR INCR option supports a single increment-element pair')
  }
  return {
    flags,
    scored: pairs(rest).map(([text, member]) => [parseFloatStrictly(text), member]),
  }
}

function add(keyspace: Keyspace, [key = '', ...args]: string[]): Value {
  // Parses all scores before it stores the first: an invalid one leaves the set unchanged.
  const { flags, scored } = parseAdd(args)
  const isIncrement = flags.has('INCR')
  const existing = keyspace.sortedSet(key)
  const set = existing ?? new SortedSet()
  let added = 0
  let updated = 0
  let result: number | null = null
  for (const [amount, member] of scored) {
    const current = set.score(member)
    const next = isIncrement && current !== undefined ? current + amount : amount
    if (Number.isNaN(next)) throw new Fault('ERR resulting score is not a number (NaN)')
    if (!mayStore(flags, current, next)) continue
    result = next
    if (current === undefined) added += 1
    else if (current !== next) updated += 1
    if (current !== next) set.set(member, next)
  }
  if (!existing && set.size > 0) keyspace.set(key, set)
  if (isIncrement) return result === null ? null : formatDouble(result)
  return flags.has('CH') ? added + updated : added
}

function mayStore(flags: ReadonlySet<string>, current: number | undefined, next: number): boolean {
  if (current === undefined) return !flags.has('XX')
  if (flags.has('NX')) return false
  return !(flags.has('GT') && next <= current) && !(flags.has('LT') && next >= current)
}
