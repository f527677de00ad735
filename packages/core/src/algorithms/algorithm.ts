/** One policy's numbers in one decision. */
export interface AlgorithmInput {
  /** Units allowed per window. */
  readonly limit: number
  /** The most units at once; the limit, except of a bucket. */
  readonly burst: number
  /** Units asked for; 0 reads without asking for any. */
  readonly cost: number
  /** The algorithm's own numbers, such as the window in milliseconds. */
  readonly params: readonly number[]
}

/** The finding of an algorithm for one policy, before anything is added. */
export interface Finding {
  /** Returns true for every cost of 0. */
  readonly fits: boolean
  /** Units free now, before this cost. */
  readonly available: number
  /** Milliseconds until units that are (or by this cost would be) in use come back. */
  readonly resetMs: number
  /** Milliseconds until this cost fits if nobody else spends: 0 now, -1 never. */
  readonly retryMs: number
  /** Milliseconds that a cost that fits waits for its turn. @default 0 */
  readonly waitMs?: number
}

/** A charge that turned out to be of another size. */
export interface Settlement extends Omit<AlgorithmInput, 'cost'> {
  /** Identifies the charge. */
  readonly id: string
  /** The position of the charge, as `add` returned it. */
  readonly position: number
  /** Units charged. */
  readonly reserved: number
  /** Units to have been charged. */
  readonly actual: number
}

/** A state, and the time after which it may be dropped (epoch ms). */
export interface StoredState<State = unknown> {
  readonly state: State
  readonly expiresAt: number
}

/**
 * How a policy counts, as two twins that must agree: TypeScript for stores in memory, Lua for Redis.
 *
 * `check` only reads. `add` is called once per key, and only after every enforced policy of the
 * decision has fitted.
 *
 * @example See `docs/extending.md`, which builds one.
 */
export interface Algorithm<State = never> {
  /** Stands in keys, beside the algorithm's numbers. Letters and `-`. */
  readonly id: string
  check(state: State | undefined, input: AlgorithmInput, now: number): Finding
  /** `position` is a whole number that settling finds the charge by. */
  add(
    state: State | undefined,
    input: AlgorithmInput,
    now: number,
    id: string,
  ): StoredState<State> & { readonly position: number }
  /** The Lua twin, for policies with these numbers. A store that needs no Lua does not call it. */
  lua(params: readonly number[]): LuaFragments
  /**
   * How charges are corrected. Those of Sluice's own algorithms stand beside them, and are loaded with
   * `@sluice/core/reservations`. @default reservations are refused
   */
  readonly settlement?: SettlementTwins<State>
}

/**
 * An algorithm in Lua, as pieces of one script. Each stands in a block of its own, may have locals,
 * and finds these: `key`; `limit`, `burst` and `cost`, which are whole numbers; `id`, unique to the
 * request; `now`, in epoch ms; `own`, true if that is Redis' own time; `slack`, the milliseconds that
 * keys live longer where it is not; `skewed`, true if it is the time of callers that may differ.
 *
 * A variable written `$name` outlives its piece; `keeps` lists them. What can fail, such as a key that
 * holds something else, must fail in `read` or `check`: `add` only writes.
 */
export interface LuaFragments {
  readonly keeps?: readonly string[]
  /** Runs once for a key that several policies count in, before their checks. */
  readonly read?: string
  /** Sets `fits`, `available` and `reset`; if it does not fit `retry`, else perhaps `wait`. */
  readonly check: string
  /** Charges `cost`. */
  readonly add: string
  /** An expression, valid after `add`: the position of the charge. */
  readonly position: string
}

/**
 * How a charge is corrected where it was made, as two twins. Units used beyond it are charged now if
 * the charge no longer counts.
 */
export interface SettlementTwins<State = never> {
  /** True if everything is given back, whatever was used: a call is over then. @default false */
  readonly released?: boolean
  /** True if giving units back needs Redis' time, which costs a command. @default false */
  readonly needsTime?: boolean
  /**
   * `applied`: units charged, or, below 0, given back: none where they no longer counted. Returns
   * `undefined` if nothing changes.
   */
  settle(
    state: State | undefined,
    settlement: Settlement,
    now: number,
  ): (StoredState<State> & { readonly applied: number }) | undefined
  /**
   * Finds `position`, `reserved` and `actual` beside what `LuaFragments` find, and sets `applied`. It
   * must verify before it writes. `now` is Redis' time if more was used than reserved, or by
   * `needsTime`; else it is the caller's, and may only decide what is told.
   */
  lua(params: readonly number[]): string
}

/** Lua that refuses a key that holds something else, before anything is written. */
export const FOREIGN = `error('the key holds something else')`

/** Lua of a window that holds `used` units: whether the cost fits, and when. */
export const fitWindow = (reset: string, retry: string): string => `
fits = cost == 0 or used + cost <= limit
available, reset = limit - used, ${reset}
if not fits then retry = cost > limit and -1 or ${retry} end`

/** The finding of a window that holds `used` units; `retryMs` is called only if the cost does not fit. */
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
