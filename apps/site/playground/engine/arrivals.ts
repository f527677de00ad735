/** A request that a client sends by itself. Retries come with the answers. */
export interface Arrival {
  /** Milliseconds since the start. */
  readonly at: number
  readonly tenant: string
  /** The units that it uses, if the traffic knows them: then it reserves these, and no estimate. */
  readonly used?: Readonly<Record<string, number>>
}

export interface Traffic {
  /** The time of the start, in epoch ms. */
  readonly startMs: number
  /** In the order of their times. */
  readonly arrivals: readonly Arrival[]
  /** The calls of a log with neither a cost nor a price, which count as $0. */
  readonly unpriced?: number | undefined
  /** Returns the milliseconds until a denied client tries again, or `undefined` if it gives up. */
  readonly retryIn: (retryAfterMs: number | null, attempt: number) => number | undefined
}
