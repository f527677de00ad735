/* The division of loans, once in a slot: see `share-state.ts`. */
import {
  amount,
  charge,
  inUse,
  isActive,
  largestIn,
  lendable,
  levelOf,
  MAX_MEMBERS,
  noCounts,
  OTHERS,
  partLevel,
  rolled,
  SLOTS,
  sumOf,
  type Level,
  type Member,
  type Shares,
} from './share-state.ts'

/** Returns the shares as divided in `slot`, or `state` itself if it already is. */
export function divide(state: Shares, slot: number, limit: number): Shares {
  if (state.slot >= slot) return state
  const passed = slot - state.slot
  const isSameWindow = Math.floor(slot / SLOTS) === Math.floor(state.slot / SLOTS)
  const largest = largestIn(state, slot)
  const shares: Shares = {
    ...state,
    slot,
    counts: rolled(state.counts, passed),
    weights: rolled([], 0),
    guarantees: rolled([], 0),
    largest: isSameWindow ? state.largest : 0,
    largestBefore: isSameWindow ? state.largestBefore : largest,
    members: new Map(),
  }
  const lent = lendable(shares, slot, limit)
  const total = inUse(state, slot, 1)
  const wasFull = state.fullSlot >= slot - 1 || total > limit - largest
  const wasHeldDown = state.fullSlot >= slot - SLOTS - 1
  const parts = partLevel(state, state.slot, lendable(state, state.slot, limit))
  const content: Content[] = []
  let room = lent
  for (const [id, member] of membersToKnow(state, slot)) {
    shares.members.set(id, member)
    const used = inUse(member, slot, 1)
    const likely = likelyUse(member, slot, largest, wasHeldDown)
    if (id === OTHERS) {
      room -= likely
      continue
    }
    charge(shares.weights, slot - member.slot, member.weight)
    charge(shares.guarantees, slot - member.slot, member.guarantee)
    const part = amount(parts, member)
    const wantsMore =
      wasFull ||
      used >= Math.max(part, amount(state.loans, member)) ||
      (total + largest > lent && used + largest > part)
    if (!wantsMore) content.push({ member, likely })
  }
  // Each of them may make one request more than expected, but not all of them at once.
  room -= Math.ceil(Math.sqrt(content.length)) * largest
  const [weights, guarantees] = [sumOf(shares.weights), sumOf(shares.guarantees)]
  shares.loans = loanLevel(weights, guarantees, content, room, lent)
  return shares
}

/** Returns what a member is likely to use in a window: as much as in the last one, or more if it uses more and more. */
function likelyUse(member: Member, slot: number, largest: number, wasHeldDown: boolean): number {
  const used = inUse(member, slot, 1)
  const latest = member.counts[member.slot - slot + 1] ?? 0
  const oldest = member.counts.findLastIndex(
    (count, age) => count > 0 && age + slot - member.slot <= SLOTS,
  )
  // One that has begun within the window: at its pace. A request by itself is no pace.
  const pace = ((used - largest) * SLOTS) / Math.max(1, oldest + slot - member.slot)
  // The limit was used up: what it used in the window before tells little.
  const held = wasHeldDown ? latest * SLOTS : 0
  return Math.max(used, inUse(member, slot, 0) + 2 * latest, Math.floor(pace), held)
}

/** A member that wants no more than it is likely to ask for. */
interface Content {
  readonly member: Member
  readonly likely: number
}

/** Returns the level at which `room` is used up if the content get no more than what they are likely to ask for. */
function loanLevel(
  weights: number,
  guarantees: number,
  content: readonly Content[],
  room: number,
  lent: number,
): Level {
  let rest = content
  while (weights > 0) {
    const level = levelOf(room, weights, guarantees)
    const above = rest.filter(({ member, likely }) => likely >= amount(level, member))
    if (above.length === rest.length) return level
    for (const { member, likely } of rest) {
      if (likely >= amount(level, member)) continue
      room -= likely
      weights -= member.weight
      guarantees -= member.guarantee
    }
    rest = above
  }
  // Nobody wants more, so whoever asks may have what is there: no parts are the highest level.
  return [lent, 0]
}

/** Returns the members that use units: if there are too many, those that use least counted together. */
function membersToKnow({ members }: Shares, slot: number): [id: number, member: Member][] {
  const used = (member: Member): number => inUse(member, slot, 1)
  const using = [...members].filter(([, member]) => isActive(member, slot))
  if (using.length <= MAX_MEMBERS) return using
  const named = using
    .filter(([id]) => id !== OTHERS)
    .toSorted(([a, first], [b, second]) => used(second) - used(first) || a - b)
  const together = named.splice(MAX_MEMBERS)
  const others = noCounts(slot)
  for (const [, member] of [...together, ...using.filter(([id]) => id === OTHERS)]) {
    rolled(member.counts, slot - member.slot).forEach((count, age) =>
      charge(others.counts, age, count),
    )
  }
  return [[OTHERS, others], ...named]
}
