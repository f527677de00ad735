/** The numbers of one policy in one decision. */
export interface AlgorithmInput {
  /** Units allowed per window. */
  readonly limit: number
  /** The most units at once: the capacity of a bucket, otherwise the limit. */
  readonly burst: number
  /** Units asked for. A cost of 0 only reads. */
  readonly cost: number
  /** The algorithm's own numbers, such as the window in milliseconds. */
  readonly params: readonly number[]
}

/** The result of an algorithm's `check` for one policy, before anything is charged. */
export interface Finding {
  /** True if the cost fits. A cost of 0 always does. */
  readonly fits: boolean
  /** Units free now, before this cost. If a cost fits, each one up to this does, and none above. */
  readonly available: number
  /** Milliseconds until the first unit in use comes back, or the first of this cost if none is in use. */
  readonly resetMs: number
  /** Milliseconds until this cost fits if nothing else is charged: 0 now, -1 never. */
  readonly retryMs: number
  /** Milliseconds by which to delay a request that fits. @default 0 */
  readonly waitMs?: number
}

/** The correction of a charge to what was really used. */
export interface Settlement extends Omit<AlgorithmInput, 'cost'> {
  /** Identifies the charge. */
  readonly id: string
  /** The position of the charge, as `add` returned it. */
  readonly position: number
  /** Units charged. */
  readonly reserved: number
  /** Units really used. */
  readonly actual: number
}

/** A stored state, and the time after which it may be dropped (epoch ms; Infinity: never). */
export interface StoredState<State = unknown> {
  readonly state: State
  readonly expiresAt: number
}

/** Facts about an algorithm that its twins do not show. `lease` and others ask for them, and name the one that is missing. */
export interface Traits {
  /** True if each unit counts for one window from its charge on. `fairShare` and `adaptiveLimit` need it. @default false */
  readonly slides?: boolean
  /** True if each unit counts until it is settled, whatever was used, as a call in flight does: settling gives all back. @default false */
  readonly held?: boolean
  /**
   * True for a balance: its states have no end, units may come at any time, and a settlement of what was reserved changes it,
   * because units that are held are counted apart. @default false
   */
  readonly balance?: boolean
  /** True if all units return at one time, when `resetMs` is over. Needed where `windowEnd` cannot tell it. @default false */
  readonly endsTogether?: boolean
  /** True if `retryMs` is a guess though units are not held. `waitingLine` refuses both. @default false */
  readonly guessesRetry?: boolean
  /** True for the line before a limit, whose entries may have a ticket. @default false */
  readonly ticketed?: boolean
  /**
   * Returns the end of the window that runs at `now`, when all units return (epoch ms). A calendar needs the numbers of an
   * entry. @default windows have no common end
   */
  readonly windowEnd?: (params: readonly number[], now: number, entry?: object) => number
  /**
   * Returns the numbers, the window in milliseconds first, with which a unit counts for `ms` longer: a lease uses it that
   * late. With `windowEnd` they stay the same. `lease` needs this and `settlement`. @default no lease
   */
  readonly lengthen?: (params: readonly number[], ms: number) => readonly number[]
}

/**
 * A way of counting, as two twins that must agree: TypeScript for stores in memory, Lua for Redis.
 *
 * `check` only reads. `add` charges. It is called once per key, after every enforced policy of the decision
 * has fitted.
 *
 * @example See `docs/extending.md`, which builds one.
 */
export interface Algorithm<State = never> {
  /** Part of the keys, beside the algorithm's numbers. Letters and `-`. */
  readonly id: string
  /** The id in keys of an algorithm that goes on with the counts of another. @default `id` */
  readonly keyId?: string
  /** @default none of them */
  readonly traits?: Traits
  check(state: State | undefined, input: AlgorithmInput, now: number): Finding
  /** Charges the cost. `position` is a whole number by which settling finds the charge. */
  add(
    state: State | undefined,
    input: AlgorithmInput,
    now: number,
    id: string,
  ): StoredState<State> & { readonly position: number }
  /** Returns the Lua twin for policies with these numbers. Stores without Lua do not call it. */
  lua(params: readonly number[]): LuaFragments
  /**
   * The correction of charges. Those of most of Sluice's own algorithms are loaded with
   * `@sluice/core/reservations` only. @default reservations are refused
   */
  readonly settlement?: SettlementTwins<State>
}

/**
 * An algorithm in Lua, as fragments of one script. Each fragment is a block of its own, may have locals, and
 * can use:
 * - `key`; `id`, unique to the request; `limit`, `burst` and `cost`, which are whole numbers
 * - `now`, in epoch ms; `own`, true if `now` is Redis' own time
 * - `slack`, the milliseconds by which keys live longer if it is not
 * - `skewed`, true if `now` comes from callers whose clocks may differ
 *
 * A variable written `$name` outlives its fragment; list it in `keeps`. Everything that can fail, such as
 * a key that holds something else, must fail in `read` or `check`, because `add` only writes. A command
 * names one key, as its first argument.
 */
export interface LuaFragments {
  /** The names of the variables that outlive their fragment. */
  readonly keeps?: readonly string[]
  /** Runs before `check`: once for a key that several policies share. */
  readonly read?: string
  /** Sets `fits`, `available` and `reset`; also `retry` if the cost does not fit, or `wait` if it has to. */
  readonly check: string
  /** Charges `cost`, which may be more than in `check`: a range or a leased block grows by the units that are free. */
  readonly add: string
  /** An expression, valid after `add`: the position of the charge. */
  readonly position: string
}

/**
 * The correction of a charge, as two twins. A charge is corrected where it was made. If it no longer
 * counts, units used beyond it are charged now.
 */
export interface SettlementTwins<State = never> {
  /** True if giving units back needs the time of Redis, which costs one command. @default false */
  readonly needsTime?: boolean
  /**
   * Returns the corrected state, or `undefined` if nothing changes. `applied` is the number of units charged
   * (below 0: given back). Units that no longer counted are not given back.
   */
  settle(
    state: State | undefined,
    settlement: Settlement,
    now: number,
  ): (StoredState<State> & { readonly applied: number }) | undefined
  /**
   * Returns Lua that sets `applied`. Beside the names of `LuaFragments`, it can use `position`, `reserved` and
   * `actual`. It must verify before it writes. `now` is the time of Redis if more was used than reserved, or
   * with `needsTime`. Otherwise it is the caller's, and may only decide the value of `applied`.
   */
  lua(params: readonly number[]): string
}

/** Returns the algorithm's own settlement, or the one that `known` has for its id. Keys name the id, so it gets its own states only. */
export const settlementIn = (
  known: Readonly<Record<string, unknown>>,
  { id, settlement }: Algorithm,
): SettlementTwins | undefined => settlement ?? (known[id] as SettlementTwins | undefined)

/** Lua for a key that holds something else: fails before anything is written. */
export const FOREIGN = `error('the key holds something else')`

/** The Lua twin of `windowFinding`: `reset` and `retry` are expressions in milliseconds. */
export const fitWindow = (reset: string, retry: string): string => `
fits = cost == 0 or used + cost <= limit
available, reset = limit - used, ${reset}
if not fits then retry = cost > limit and -1 or ${retry} end`

/** The finding of a window with `used` units in it. Calls `retryMs` only if the cost does not fit. */
export function windowFinding(
  { limit, cost }: AlgorithmInput,
  used: number,
  resetMs: number,
  retryMs: () => number,
): Finding {
  const fits = cost === 0 || used + cost <= limit
  return {
    fits,
    available: limit > used ? limit - used : 0,
    resetMs,
    retryMs: fits ? 0 : cost > limit ? -1 : retryMs(),
  }
}
