import type { Subject } from '@sluice/core'

/** One request of a log. */
export interface Call {
  /** The time of the request, in epoch ms. */
  readonly at: number
  /** The line of the log, from 1. */
  readonly line: number
  readonly subject: Subject & { readonly tenant: string }
  /**
   * The use of the request, in the units that policies count: `token`, `input_token`, `output_token`, `usd`
   * (micro-dollars) and your own. A unit that the log does not state is missing.
   */
  readonly units: Readonly<Record<string, number>>
  /** The HTTP status of the answer, if the log tells it. */
  readonly status: number | undefined
}

/** The calls of one row of a usage export. */
export interface CallSum extends Omit<Call, 'at' | 'units'> {
  /** The start of its period, in epoch ms. */
  readonly at: number
  readonly calls: number
  /** The sums of what the calls used, in the units of a call. */
  readonly units: Call['units']
}
