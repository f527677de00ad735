/** One policy's part in a store call: a key, and numbers for the algorithm. */
export interface Entry {
  readonly key: string
  readonly algorithm: Algorithm
  /** Units allowed per window. */
  readonly limit: number
  /** The most units at once; the limit, except of a bucket. */
  readonly burst: number
  /** Units asked for; 0 reads without asking for any. */
  readonly cost: number
  /** Whether it denies what does not fit. If not, it is left out of what is added then. */
  readonly enforced: boolean
  /** The algorithm's own numbers, such as the window in milliseconds. */
  readonly params: readonly number[]
}

/** What an algorithm finds for one entry, before anything is added. */
export interface Verdict {
  readonly fits: boolean
  /** Units free now, before this cost. */
  readonly available: number
  /** Milliseconds until units that are (or by this cost would be) in use come back. */
  readonly resetMs: number
  /** Milliseconds until this cost fits if nobody else spends: 0 now, -1 never. */
  readonly retryMs: number
  /** Milliseconds that a cost that fits is to wait for its turn; left out, 0. */
  readonly waitMs?: number
}

/** A charge that turned out to be of another size, in one entry's terms. */
export interface Settlement extends Omit<Entry, 'cost' | 'enforced'> {
  /** What tells the charge from others. */
  readonly id: string
  /** Where it was made, as `add` told. */
  readonly place: number
  /** Units charged. */
  readonly reserved: number
  /** Units to have been charged. */
  readonly actual: number
}

/**
 * How a policy counts, as two twins that must agree: TypeScript for the memory store, Lua for Redis.
 * `check` only reads; `add` is called only after every enforced policy of the decision has fitted, once
 * per key; `settle` corrects what `add` charged, where it was charged, if that still counts.
 */
export interface Algorithm<State = never> {
  /** Names the Lua twin and the key. */
  readonly id: string
  /** Whether all is given back when a reservation is settled, whatever was used: a call is over then. */
  readonly released?: boolean
  /**
   * A Lua table of two functions. `check(entry, now)` gets the entry (`key`, `limit`, `burst`, `cost`,
   * `params`, and `shared`, a table that is the same for entries of one key) and returns a table with
   * `fits`, `available`, `reset`, `retry`, perhaps `wait`, and whatever `add` needs besides.
   * `add(entry, now, verdict, call)` has in `call` an `id` for what is added, `own`, which tells that
   * `now` is Redis' own, and `slack`, the milliseconds that keys are to live longer than they need to
   * by `now`; it returns the place of the charge, a whole number.
   */
  readonly lua: string
  /**
   * A Lua function `(entry, clock)`, the twin of `settle`; the entry has what a `Settlement` has, and
   * `clock()` returns `now`, `own` and `slack`.
   */
  readonly luaSettle: string
  check(state: State | undefined, entry: Entry, now: number): Verdict
  /** Returns the new state, when (epoch ms) it is as good as none, and the place of the charge. */
  add(
    state: State | undefined,
    entry: Entry,
    now: number,
    id: string,
  ): { state: State; expiresAt: number; place: number }
  /** Returns the new state, or `undefined` if nothing is left to correct. */
  settle(
    state: State,
    settlement: Settlement,
    now: number,
  ): { state: State; expiresAt: number } | undefined
}
