import type { Algorithm, AlgorithmInput, Settlement } from './algorithm.ts'
import {
  amount,
  charge,
  divide,
  inUse,
  largestOf,
  lendable,
  levelOf,
  MAX_MEMBERS,
  MAX_NEWCOMERS,
  noCounts,
  noShares,
  OTHERS,
  roll,
  SLOT_MODULUS,
  SLOTS,
  type Claim,
  type Member,
  type Shares,
} from './share-division.ts'
import { settlingShares, sharesLua } from './shares-lua.ts'

/** Who asks: numbers that an entry has beside its limit and cost. */
export interface Asker extends Claim {
  /** From 1 on. */
  readonly member: number
}

/** Divides a limit. Its param: the window in milliseconds. */
export const sharesAlgorithm: Algorithm<Shares> = {
  id: 'shares',

  check(state: Shares | undefined, input: AlgorithmInput, now: number) {
    const { cost, limit, params } = input
    const { member: id, ...claim } = askerOf(input)
    const shares = dividedNow(state, input, now)
    const { slot } = shares
    const member = shares.members.get(id)
    const joined = joinedBy(shares, member, claim)
    const lent = lendable(shares, limit)
    const part = amount(levelOf(lent, joined.weights, joined.guarantees), claim)

    /** Returns the units free for the asker when `later` slots have begun. */
    function availableIn(later: number, left: number, most: number): number {
      const total = inUse(shares, slot + later, left)
      const used = member ? inUse(member, slot + later, left) : 0
      // Whoever uses nothing may begin, or one with a small part would never get anything.
      const own = used === 0 ? limit : Math.min(limit, total + Math.floor(part) - used)
      return Math.max(0, own - total, used < most ? lent - total : 0)
    }

    const left = Math.min(1, slot + 1 - (now * SLOTS) / windowOf(params))
    const available = availableIn(0, left, Math.max(part, amount(shares.loans, claim)))
    const fits = cost === 0 || cost <= available
    let later = 0
    // No longer than this: whoever stops meanwhile leaves it a larger part.
    if (!fits && cost <= limit)
      do later += 1
      while (availableIn(later, 1, part) < cost)
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
    const known = members.get(asker)
    const isNamed = known !== undefined || members.size < MAX_MEMBERS + MAX_NEWCOMERS
    if (isNamed) Object.assign(shares, joinedBy(shares, known, claim))
    const id = isNamed ? asker : OTHERS
    const member = Object.assign(members.get(id) ?? noCounts(slot), isNamed && claim)
    const left = Math.min(1, slot + 1 - (now * SLOTS) / windowOf(params))
    shares.largest = Math.max(shares.largest, cost)
    if (inUse(shares, slot, left) + cost > limit - largestOf(shares)) shares.fullSlot = slot
    roll(member, slot)
    charge(member, 0, cost)
    charge(shares, 0, cost)
    members.set(id, member)
    return { ...stored(shares, params), position: id * SLOT_MODULUS + (slot % SLOT_MODULUS) }
  },

  lua: sharesLua,

  settlement: {
    settle(state: Shares | undefined, settlement: Settlement, now: number) {
      const { position, reserved, actual, params } = settlement
      const change = actual - reserved
      if (change > 0) {
        const shares = dividedNow(state, settlement, now)
        const { id, member = noCounts(shares.slot) } = chargedAt(shares, position)
        const age = ageOf(position, shares.slot)
        const at = age <= SLOTS ? age : 0
        roll(member, shares.slot)
        charge(member, at, change)
        charge(shares, at, change)
        shares.members.set(id, member)
        return { ...stored(shares, params), applied: change }
      }
      const { member } = state ? chargedAt(state, position) : {}
      if (!state || !member) return undefined
      const age = ageOf(position, member.slot)
      // The count may have been reset since.
      const given = Math.max(change, -(member.counts[age] ?? 0))
      if (given === 0 || ageOf(position, state.slot) > SLOTS) return undefined
      charge(member, age, given)
      charge(state, ageOf(position, state.slot), given)
      const isOver = ageOf(position, Math.max(state.slot, slotOf(now, params))) > SLOTS
      return { ...stored(state, params), applied: isOver ? 0 : given }
    },

    lua: settlingShares,
  },
}

const windowOf = ([window = SLOTS]: readonly number[]): number => window

const askerOf = (input: AlgorithmInput): Asker => {
  const { member = OTHERS, weight = 1, guarantee = 0 } = input as AlgorithmInput & Partial<Asker>
  return { member, weight, guarantee }
}

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
  return state ? divide(state, slot, limit) : noShares(slot, limit)
}

/** Returns the sums over all members when the asker is one of them. */
const joinedBy = (
  { weights, guarantees }: Shares,
  known: Member | undefined,
  { weight, guarantee }: Claim,
) => ({
  weights: weights + weight - (known?.weight ?? 0),
  guarantees: guarantees + guarantee - (known?.guarantee ?? 0),
})

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
