import { at, reads, writes, type Definition, type Definitions } from '../command.ts'
import type { Keyspace } from '../keyspace.ts'
import { formatDouble, parseFloatStrictly, parseInteger } from '../numbers.ts'
import type { Scored, SortedSet } from '../sorted-set.ts'
import { Fault, SYNTAX_ERROR, type Value } from '../value.ts'

type Positions = readonly [start: number, end: number]

export const sortedSetRangeCommands: Definitions = {
  ZRANGE: reads(-4, (keyspace, args) => range(keyspace, args, {})),
  ZREVRANGE: reads(-4, (keyspace, args) => range(keyspace, args, { reverse: true })),
  ZRANGEBYSCORE: reads(-4, (keyspace, args) => range(keyspace, args, { byScore: true })),
  ZREVRANGEBYSCORE: reads(-4, (keyspace, args) =>
    range(keyspace, args, { byScore: true, reverse: true }),
  ),
  ZRANGEBYLEX: reads(-4, (keyspace, args) => range(keyspace, args, { byMember: true })),
  ZCOUNT: reads(4, (keyspace, [key = '', low = '', high = '']) => {
    const bounds = scoreBounds(low, high)
    const set = keyspace.sortedSet(key)
    if (!set) return 0
    const [start, end] = bounds(set)
    return Math.max(0, end - start)
  }),
  ZREMRANGEBYSCORE: writes(4, (keyspace, [key = '', low = '', high = '']) =>
    removeRange(keyspace, key, scoreBounds(low, high)),
  ),
  ZREMRANGEBYRANK: writes(4, (keyspace, [key = '', start = '', stop = '']) =>
    removeRange(keyspace, key, indexBounds(start, stop)),
  ),
}

/** Defines ZPOPMIN or ZPOPMAX: `take` chooses the members. */
export function popCommand(take: (set: SortedSet, count: number) => Scored[]): Definition {
  const run = (keyspace: Keyspace, args: string[]): Value => {
    const [key = '', countText] = args
    if (args.length > 2) throw new Fault(SYNTAX_ERROR)
    const outOfRange = 'ERR value is out of range, must be positive'
    const count = countText === undefined ? 1 : parseInteger(countText, outOfRange)
    if (count < 0) throw new Fault(outOfRange)
    const set = keyspace.sortedSet(key)
    if (!set) return []
    const taken = take(set, count)
    for (const [member] of taken) set.delete(member)
    keyspace.deleteIfEmpty(key, set)
    return flattenScored(taken)
  }
  return writes(-2, run)
}

const flattenScored = (entries: readonly Scored[]): string[] =>
  entries.flatMap(([member, score]) => [member, formatDouble(score)])

function removeRange(
  keyspace: Keyspace,
  key: string,
  bounds: (set: SortedSet) => Positions,
): number {
  const set = keyspace.sortedSet(key)
  if (!set) return 0
  const removed = set.deleteRange(...bounds(set))
  keyspace.deleteIfEmpty(key, set)
  return removed
}

interface RangeOptions {
  byScore?: boolean
  byMember?: boolean
  reverse?: boolean
  withScores?: boolean
  limit?: readonly [offset: number, count: number]
}

/** Parses the options of a range. Only ZRANGE accepts those that the older commands have `fixed`. */
function parseRange(rest: string[], fixed: RangeOptions): RangeOptions {
  const options = { ...fixed }
  const isZrange = Object.keys(fixed).length === 0
  for (let index = 0; index < rest.length; index += 1) {
    const word = at(rest, index).toUpperCase()
    if (word === 'WITHSCORES') options.withScores = true
    else if (word === 'BYSCORE' && isZrange) options.byScore = true
    else if (word === 'REV' && isZrange) options.reverse = true
    else if (word === 'LIMIT' && index + 2 < rest.length) {
      options.limit = [parseInteger(at(rest, index + 1)), parseInteger(at(rest, index + 2))]
      index += 2
    } else throw new Fault(SYNTAX_ERROR)
  }
  if (options.withScores && options.byMember) {
    throw new Fault(`${SYNTAX_ERROR}, WITHSCORES not supported in combination with BYLEX`)
  }
  if (options.limit && !options.byScore && !options.byMember) {
    throw new Fault(
      `${SYNTAX_ERROR}, LIMIT is only supported in combination with either BYSCORE or BYLEX`,
    )
  }
  return options
}

function range(keyspace: Keyspace, args: string[], fixed: RangeOptions): Value {
  const [key = '', from = '', to = '', ...rest] = args
  const { byScore, byMember, reverse = false, withScores, limit } = parseRange(rest, fixed)
  const ends = reverse ? ([to, from] as const) : ([from, to] as const)
  const bounds = byMember
    ? memberBounds(from, to)
    : byScore
      ? scoreBounds(...ends)
      : indexBounds(from, to, reverse)
  const set = keyspace.sortedSet(key)
  if (!set) return []
  const [start, end] = bounds(set)
  let entries = set.slice(start, Math.max(start, end))
  if (reverse) entries.reverse()
  if (limit) entries = sliceLimit(entries, ...limit)
  return withScores ? flattenScored(entries) : entries.map(([member]) => member)
}

function sliceLimit(entries: Scored[], offset: number, count: number): Scored[] {
  if (offset < 0) return []
  return entries.slice(offset, count < 0 ? undefined : offset + count)
}

/** Converts Redis's inclusive indexes to positions. Negative indexes count from the end. */
function indexBounds(
  startText: string,
  stopText: string,
  reverse = false,
): (set: SortedSet) => Positions {
  const first = parseInteger(startText)
  const last = parseInteger(stopText)
  return ({ size }) => {
    const start = Math.max(0, first < 0 ? first + size : first)
    const stop = Math.min(size - 1, last < 0 ? last + size : last)
    if (start > stop || start >= size) return [0, 0]
    return reverse ? [size - 1 - stop, size - start] : [start, stop + 1]
  }
}

/** Converts scores to positions. A `(` before a score excludes it. */
function scoreBounds(low: string, high: string): (set: SortedSet) => Positions {
  const minimum = parseBound(low)
  const maximum = parseBound(high)
  return (set) => [
    set.bound(minimum.score, minimum.exclusive),
    set.bound(maximum.score, !maximum.exclusive),
  ]
}

/** Converts members to positions, in a set of which all scores are the same. A `(` before a member excludes it. */
function memberBounds(low: string, high: string): (set: SortedSet) => Positions {
  const ends = [low, high].map((text) => {
    if (!/^(\[|\(|[-+]$)/.test(text)) throw new Fault('ERR min or max not valid string range item')
    return text
  })
  return (set) => {
    const [start = 0, end = 0] = ends.map((text, index) => {
      if (text === '-') return 0
      if (text === '+') return set.size
      return set.memberBound(text.slice(1), text.startsWith('(') === (index === 0))
    })
    return [start, end]
  }
}

function parseBound(text: string): { score: number; exclusive: boolean } {
  const exclusive = text.startsWith('(')
  const score = parseFloatStrictly(
    exclusive ? text.slice(1) : text,
    'ERR min or max is not a float',
  )
  return { score, exclusive }
}
