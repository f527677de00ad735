import type { Algorithm, AlgorithmInput, Settlement } from './algorithm.ts'
import { divide } from './share-division.ts'
import {
  amount,
  charge,
  inUse,
  isActive,
  largestIn,
  lendable,
  MAX_MEMBERS,
  MAX_NEWCOMERS,
  NO_CLAIM,
  noShares,
  OTHERS,
  partLevel,
  rolled,
  SLOT_MODULUS,
  SLOTS,
  type Claim,
  type Shares,
} from './share-state.ts'
import { settlingShares, sharesLua } from './shares-lua.ts'

/** The caller as numbers that an entry has beside its limit and cost. */
export interface Asker extends Claim {
  /** From 1 on. */
  readonly member: number
}

/** Divides a limit. Its params: the window in milliseconds, and the least headroom. */
export const sharesAlgorithm: Algorithm<Shares> = {
  id: 'shares',

  check(state: Shares | undefined, input: AlgorithmInput, now: number) {
    const { cost, limit, params } = input
    const { member: id, ...claim } = askerOf(input)
    const shares = state ?? noShares(slotOf(now, params), limit, headroomOf(params))
    const slot = Math.max(shares.slot, slotOf(now, params))
    const member = shares.members.get(id)

    /** Returns the units free for the asker when `later` slots have begun. */
    function availableIn(later: number, left: number): number {
      const at = slot + later
      const total = inUse(shares, at, left)
      const used = member ? inUse(member, at, left) : 0
      const lent = lendable(shares, at, limit)
      const known = member && isActive(member, at) ? member : undefined
      const part = amount(partLevel(shares, at, lent, claim, known), claim)
      // A tenant that uses nothing may begin, or one with a small part would never get anything.
      const own = used === 0 ? limit : Math.min(limit, total + Math.floor(part) - used)
      // After a whole slot without a charge, the loans are out of date: one may be made beyond them.
      const mayBorrow = used < Math.max(part, amount(shares.loans, claim)) || at - shares.slot > 1
      return Math.max(0, own - total, mayBorrow ? lent - total : 0)
    }

    const available = availableIn(0, leftOf(slot, now, params))
    const fits = cost === 0 || cost <= available
    let later = 0
    if (!fits && cost <= limit)
      do later += 1
      while (availableIn(later, 1) < cost)
    const ages = member?.counts.flatMap((count, age) => (count > 0 ? age + slot - member.slot : []))
    const oldest = ages?.findLast((age) => age <= SLOTS) ?? 0
    return {
      fits,
      available,
      resetMs: beginOf(slot + SLOTS + 1 - oldest, params) - now,
      retryMs: fits ? 0 : later === 0 ? -1 : beginOf(slot + later, params) - now,
    }
  },

  add(state: Shares | undefined, input: AlgorithmInput, now: number) {
    const { cost, limit, params } = input
    const { member: asker, ...claim } = askerOf(input)
    const shares = dividedNow(state, input, now)
    const { slot, members } = shares
    // How much a newcomer wants is not known yet: until the next division, it has its part of the loans.
    const [room, parts] = shares.loans
    if (!members.has(asker) && parts > 0 && room >= 0) {
      shares.loans = [Math.max(0, room - claim.guarantee), parts + claim.weight]
    }
    const isNamed = members.has(asker) || members.size < MAX_MEMBERS + MAX_NEWCOMERS
    const id = isNamed ? asker : OTHERS
    shares.largest = Math.max(shares.largest, cost)
    const total = inUse(shares, slot, leftOf(slot, now, params)) + cost
    if (total > limit - largestIn(shares, slot)) shares.fullSlot = slot
    chargeMember(shares, id, 0, cost, isNamed ? claim : undefined)
    return { ...stored(shares, params), position: id * SLOT_MODULUS + (slot % SLOT_MODULUS) }
  },

  lua: sharesLua,

  settlement: {
    settle(state: Shares | undefined, settlement: Settlement, now: number) {
      const { position, reserved, actual, params } = settlement
      const change = actual - reserved
      if (change > 0) {
        const shares = dividedNow(state, settlement, now)
        const { id, member } = chargedAt(shares, position)
        const age = ageOf(position, shares.slot)
        chargeMember(shares, id, age <= SLOTS ? age : 0, change, member)
        return { ...stored(shares, params), applied: change }
      }
      const { member } = state ? chargedAt(state, position) : {}
      if (!state || !member) return undefined
      const age = ageOf(position, member.slot)
      // The count may have been reset since.
      const given = Math.max(change, -(member.counts[age] ?? 0))
      if (given === 0 || ageOf(position, state.slot) > SLOTS) return undefined
      charge(member.counts, age, given)
      charge(state.counts, ageOf(position, state.slot), given)
      const isOver = ageOf(position, Math.max(state.slot, slotOf(now, params))) > SLOTS
      return { ...stored(state, params), applied: isOver ? 0 : given }
    },

    lua: settlingShares,
  },
}

const headroomOf = ([, headroom = 0]: readonly number[]): number => headroom

const windowOf = ([window = SLOTS]: readonly number[]): number => window

const askerOf = (input: AlgorithmInput): Asker => {
  const { member = OTHERS, weight = 1, guarantee = 0 } = input as AlgorithmInput & Partial<Asker>
  return { member, weight, guarantee }
}

/** Returns the part of `slot` that is still to come. */
const leftOf = (slot: number, now: number, params: readonly number[]): number =>
  Math.min(1, slot + 1 - (now * SLOTS) / windowOf(params))

const slotOf = (now: number, params: readonly number[]): number =>
  Math.floor((now * SLOTS) / windowOf(params))

/** Returns the time at which a slot begins. */
const beginOf = (slot: number, params: readonly number[]): number =>
  Math.ceil((slot * windowOf(params)) / SLOTS)

/** Returns the age, in slots, of the charge at `position` when `slot` is the newest. */
const ageOf = (position: number, slot: number): number =>
  (((slot - position) % SLOT_MODULUS) + SLOT_MODULUS) % SLOT_MODULUS

const dividedNow = (
  state: Shares | undefined,
  { limit, params }: Pick<AlgorithmInput, 'limit' | 'params'>,
  now: number,
): Shares => {
  const slot = slotOf(now, params)
  return state ? divide(state, slot, limit) : noShares(slot, limit, headroomOf(params))
}

/** Charges a member in the slot of this age, as one that was charged now. Those counted together have no claim. */
function chargeMember(
  { slot, counts, weights, guarantees, members }: Shares,
  id: number,
  age: number,
  units: number,
  claim: Claim = NO_CLAIM,
): void {
  const member = members.get(id)
  if (member && id !== OTHERS) {
    charge(weights, slot - member.slot, -member.weight)
    charge(guarantees, slot - member.slot, -member.guarantee)
  }
  const { weight, guarantee } = claim
  charge(weights, 0, weight)
  charge(guarantees, 0, guarantee)
  const own = rolled(member?.counts ?? [], slot - (member?.slot ?? slot))
  charge(own, age, units)
  charge(counts, age, units)
  members.set(id, { slot, counts: own, weight, guarantee })
}

/** Returns the member that was charged at `position`: those that are counted together if it is no longer known. */
function chargedAt({ members }: Shares, position: number) {
  const charged = Math.floor(position / SLOT_MODULUS)
  const id = members.has(charged) ? charged : OTHERS
  return { id, member: members.get(id) }
}

/** Returns the state. It expires a window after the last unit has left the window: a clock may step back. */
const stored = (state: Shares, params: readonly number[]) => ({
  state,
  expiresAt: beginOf(state.slot + 2 * SLOTS + 1, params),
})
