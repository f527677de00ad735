/*
 * One or several windows over a log in one string.
 *
 * Times go forward only, and requests of one millisecond are one entry. So the log is a list of gaps between
 * entries, most of which take one to three characters, and of the units of an entry unless they are 1.
 *
 * A log may become coarser as it ages. Then neighbours are merged into one entry at the later one's time,
 * where they count longer, never shorter. They are merged while their units are at most a small part of the
 * units after them. For any window, only the entry at its old end can count too much, so the excess is at
 * most that part of what is in the window.
 */
import type { Algorithm, AlgorithmInput, Settlement } from './algorithm.ts'
import { windowFinding } from './algorithm.ts'
import { BLOCK, LUA_READ, luaAdd, luaCheck, luaSettle } from './packed-log-lua.ts'

/** The units charged in one millisecond or, in a coarse log, in the time since the entry before. */
interface LogEntry {
  readonly at: number
  units: number
  /** Units of all entries before this one, of which some may have been removed. */
  before: number
}

/** Changed in place, because only the store refers to it. */
interface LogState {
  /** The oldest first. */
  entries: LogEntry[]
  /** The index of the first entry that has not been removed. */
  head: number
  /** Entries that were added since a block was completed. */
  added: number
}

/**
 * Counts in windows over a packed log. Its params: a window and the longest of the windows in milliseconds,
 * and the number of parts of which an entry of a coarse log may be one (0: the log is exact).
 */
export const packedLogAlgorithm: Algorithm<LogState> = {
  id: 'packed',

  check(state: LogState | undefined, input: AlgorithmInput, now: number) {
    const { limit, cost, params } = input
    const [window = 1] = params
    const cutoff = now - window
    const { entries } = state ?? emptyLog()
    const first = entries[indexAfter(state, cutoff)]
    if (first === undefined) return windowFinding(input, 0, window, () => window)
    const used = unitsUpTo(entries.at(-1)) - first.before
    const freed = first.before + used + cost - limit
    const retryMs = (): number =>
      (entries[firstIndex(state, (entry) => unitsUpTo(entry) >= freed)]?.at ?? now) - cutoff
    return windowFinding(input, used, first.at - cutoff, retryMs)
  },

  add: (state: LogState | undefined, { cost, params }: AlgorithmInput, now: number) =>
    append(state ?? emptyLog(), cost, params, now),

  lua: ([window = 1, longest = 1, parts = 0]) => ({
    keeps: ['log'],
    read: LUA_READ,
    check: luaCheck(window),
    add: luaAdd(longest, parts),
    position: '$log.newest',
  }),

  settlement: {
    settle(state: LogState | undefined, settlement: Settlement, now: number) {
      const { position, reserved, actual, params } = settlement
      const [, longest = 1, parts = 0] = params
      const log = state ?? emptyLog()
      const more = actual - reserved
      const expired = position <= now - longest
      const index = indexOfCharge(log, position, parts > 0)
      const entry = log.entries[index]
      if (entry === undefined || (more > 0 && expired)) {
        return more > 0 ? { ...append(log, more, params, now), applied: more } : undefined
      }
      // The log may have been reset since, and hold another charge.
      const change = Math.max(-entry.units, more)
      entry.units += change
      if (entry.units === 0) log.entries.splice(index, 1)
      for (const later of log.entries.slice(entry.units === 0 ? index : index + 1)) {
        later.before += change
      }
      return { ...withExpiry(log, longest, now), applied: expired ? 0 : change }
    },

    lua: ([, longest = 1, parts = 0]) => luaSettle(longest, parts),
  },
}

const emptyLog = (): LogState => ({ entries: [], head: 0, added: 0 })

const unitsUpTo = (entry: LogEntry | undefined): number => (entry ? entry.before + entry.units : 0)

/** Binary search: the index of the first entry for which `holds` is true, as it is for all after it. */
function firstIndex(log: LogState | undefined, holds: (entry: LogEntry) => boolean): number {
  const { entries, head } = log ?? emptyLog()
  let [low, high] = [head, entries.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if (holds(entries[middle] as LogEntry)) high = middle
    else low = middle + 1
  }
  return low
}

const indexAfter = (log: LogState | undefined, time: number): number =>
  firstIndex(log, ({ at }) => at > time)

/**
 * Returns the index of the entry that a charge is in, or -1. The first entry of a coarse log may have begun
 * after an earlier charge, if the log was reset since.
 */
function indexOfCharge(log: LogState, position: number, isCoarse: boolean): number {
  const index = indexAfter(log, position - 1)
  return log.entries[index]?.at === position || (isCoarse && index > log.head) ? index : -1
}

/** Adds units at `now`, or at the newest entry's time if that is later, and removes expired entries. */
function append(log: LogState, units: number, params: readonly number[], now: number) {
  const [, longest = 1, parts = 0] = params
  removeExpired(log, now - longest)
  const { entries } = log
  const newest = entries.at(-1)
  const at = Math.max(now, newest?.at ?? 0)
  if (at === newest?.at) {
    newest.units += units
  } else {
    entries.push({ at, units, before: unitsUpTo(newest) })
    log.added += newest ? 1 : 0
  }
  if (log.added === BLOCK) {
    log.added = 0
    if (parts > 0) merge(log, parts)
  }
  return { ...withExpiry(log, longest, now), position: at }
}

/** The array is cut only when half of it is removed, so each entry is moved at most once. */
function removeExpired(log: LogState, cutoff: number): void {
  const { entries } = log
  log.head = indexAfter(log, cutoff)
  if (log.head === entries.length) {
    Object.assign(log, emptyLog())
  } else if (log.head * 2 > entries.length) {
    entries.splice(0, log.head)
    log.head = 0
    const removed = entries[0]?.before ?? 0
    for (const entry of entries) entry.before -= removed
  }
}

/** Merges neighbours whose units are at most one of `parts` of the units after them. The newest stay apart. */
function merge(log: LogState, parts: number): void {
  const merged: LogEntry[] = []
  let newer = 0
  let bucket: LogEntry | undefined
  for (const entry of log.entries.slice(log.head).toReversed()) {
    if (bucket && (bucket.units + entry.units) * parts <= newer) {
      bucket.units += entry.units
    } else {
      newer += bucket?.units ?? 0
      bucket = entry
      merged.push(bucket)
    }
  }
  log.entries = merged.toReversed()
  log.head = 0
  let before = 0
  for (const entry of log.entries) {
    entry.before = before
    before += entry.units
  }
}

/** Returns the state. It expires a window after the newest entry has left the longest one. */
function withExpiry(state: LogState, longest: number, now: number) {
  return { state, expiresAt: (state.entries.at(-1)?.at ?? now) + 2 * longest }
}
