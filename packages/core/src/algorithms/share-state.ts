/*
 * How much of a limit each member, such as a tenant, may have among those that use it now.
 *
 * Units are counted in slots, ten to a window. A limit is divided in two ways. Each gives a member its guarantee
 * and, by weight, a part of what the guarantees leave:
 *
 * - parts: among all that were charged within a window. Up to its part a member may use what is free.
 * - loans: among those that want more, after the others got what they are likely to ask for. Up to its loan a
 *   member may borrow, but leaves the headroom free, by which newcomers get in and are seen.
 *
 * Parts follow from sums. Loans are divided anew with the first charge of a slot, which reads all members: a
 * decision, and so a flood of denials, reads one.
 *
 * A denial writes nothing, so nobody knows who was denied. But a member that has used up its part and loan may have
 * been, and so may each of them once the limit was used up: these are taken to want more. Any other is likely to
 * ask for as much as in the window before, or for twice as much as in the last slot; for as much as in the last slot
 * all through the window, if the limit was used up within the last one, which held all of them down.
 */

/** Slots in a window. One more is counted, the oldest: as much of it as is still in the window. */
export const SLOTS = 10

/** The most members to know after a division. Of more, those that use least are counted together. */
export const MAX_MEMBERS = 1_000

/** The most members that join between two divisions. More are counted together. */
export const MAX_NEWCOMERS = 100

/** The position of a charge: its member times this, and its slot modulo this. */
export const SLOT_MODULUS = 65_536

/** The id of those that are counted together. They get what they ask for, as far as it is free. */
export const OTHERS = 0

/** The headroom is this part of the limit, or has room for the largest cost. It is at most a quarter. */
export const HEADROOM = 50
export const MAX_HEADROOM = 4

/** Units by slot, the newest first. Changed in place, because only the store refers to it. */
export interface Counts {
  /** The newest slot: its number since the Unix epoch. */
  slot: number
  counts: number[]
}

/** The weight of a member, and the units that it is guaranteed. */
export interface Claim {
  readonly weight: number
  readonly guarantee: number
}

export type Member = Counts & Claim

export const NO_CLAIM: Claim = { weight: 0, guarantee: 0 }

/** Divides `room` units beyond the guarantees into this many parts, by weight. Guarantees are cut if it is below 0. */
export type Level = readonly [room: number, parts: number]

/** All units in use, and who uses them. */
export interface Shares extends Counts {
  /** The sums over the members by the slot of their last charge, the newest first. */
  weights: number[]
  guarantees: number[]
  /** As last divided. */
  loans: Level
  /** The last slot in which the limit may have been used up. */
  fullSlot: number
  /** The largest cost in this window and in the one before: windows that follow each other. */
  largest: number
  largestBefore: number
  /** The least headroom. */
  readonly headroom: number
  readonly members: Map<number, Member>
}

/** Returns counts of nothing. */
export const noCounts = (slot: number): Member => ({ slot, counts: rolled([], 0), ...NO_CLAIM })

/** Returns shares of which none is in use. */
export function noShares(slot: number, limit: number, headroom: number): Shares {
  const shares: Shares = {
    slot,
    counts: rolled([], 0),
    weights: rolled([], 0),
    guarantees: rolled([], 0),
    loans: [0, 0],
    fullSlot: 0,
    largest: 0,
    largestBefore: 0,
    headroom,
    members: new Map(),
  }
  shares.loans = [lendable(shares, slot, limit), 0]
  return shares
}

/** Returns the units in use in `slot`, `left` of which (from 0 to 1) is still to come. */
export function inUse({ counts, slot: newest }: Counts, slot: number, left: number): number {
  let units = 0
  for (let age = slot - newest; age <= SLOTS; age += 1) {
    const count = counts[age - slot + newest] ?? 0
    units += age < SLOTS ? count : Math.floor(count * left)
  }
  return units
}

/** Returns the amounts by slot when so many slots have begun. */
export const rolled = (amounts: readonly number[], slots: number): number[] =>
  Array.from({ length: SLOTS + 1 }, (_, age) => amounts[age - slots] ?? 0)

/** Adds to the slot of this age. */
export function charge(amounts: number[], age: number, units: number): void {
  amounts[age] = (amounts[age] ?? 0) + units
}

/** Returns the largest cost when it is `slot`. */
export function largestIn({ slot: newest, largest, largestBefore }: Shares, slot: number): number {
  const windows = Math.floor(slot / SLOTS) - Math.floor(newest / SLOTS)
  if (windows === 0) return Math.max(largest, largestBefore)
  return windows === 1 ? largest : 0
}

/** Returns the units that may be lent in `slot`: all but the headroom. */
export function lendable(shares: Shares, slot: number, limit: number): number {
  const headroom = Math.max(Math.ceil(limit / HEADROOM), largestIn(shares, slot), shares.headroom)
  return limit - Math.min(headroom, Math.floor(limit / MAX_HEADROOM))
}

/** Returns the level of the parts in `slot`, `without` a member's claim and with that of one who asks. */
export function partLevel(
  { slot: newest, weights, guarantees }: Shares,
  slot: number,
  lent: number,
  asker: Claim = NO_CLAIM,
  without: Claim = NO_CLAIM,
): Level {
  const left = SLOTS + 1 - (slot - newest)
  return levelOf(
    lent,
    sumOf(weights, left) + asker.weight - without.weight,
    sumOf(guarantees, left) + asker.guarantee - without.guarantee,
  )
}

/** Returns the sum of the first amounts. */
export function sumOf(amounts: readonly number[], count: number = SLOTS + 1): number {
  let sum = 0
  for (let age = 0; age < count; age += 1) sum += amounts[age] ?? 0
  return sum
}

/** Returns true if a member was charged within a window of `slot`. */
export const isActive = ({ slot: newest }: Member, slot: number): boolean => slot - newest <= SLOTS

/** Returns the level at which `room` is used up. */
export function levelOf(room: number, weights: number, guarantees: number): Level {
  const beyond = room - guarantees
  if (beyond < 0 && guarantees > 0) return [Math.max(beyond, -guarantees), guarantees]
  return [Math.max(beyond, 0), weights]
}

/** Returns what a level gives to a member. */
export const amount = ([room, parts]: Level, { weight, guarantee }: Claim): number =>
  room < 0 ? (guarantee * (parts + room)) / parts : guarantee + (room * weight) / parts
