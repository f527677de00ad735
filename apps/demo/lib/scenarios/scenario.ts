import type { tenants } from '../auth/tenants'

/** The name of one of the demo's tenants. */
export type TenantName = (typeof tenants)[number]['tenant']

/** Traffic that shows one thing, and can be run again: its tenants begin with all their budgets. */
export interface Scenario {
  readonly id: string
  readonly title: string
  /** The events, in a sentence or two. */
  readonly story: string
  /** The tenants that take part. The page shows the first. */
  readonly tenants: readonly [TenantName, ...TenantName[]]
  readonly run: (traffic: Traffic) => Promise<void>
}

/** The status of an answer. */
export interface Outcome {
  readonly status: number
  /** The code in the body of a refusal. */
  readonly code: string | undefined
  /** The model that has answered. */
  readonly model: string | undefined
}

/** Ways to send requests to the demo, over HTTP, as anybody would. */
export interface Traffic {
  /** Sends a request to an AI route. `call` is its idempotency key, equal when it is sent again. */
  readonly ask: (tenant: TenantName, route: string, call?: string) => Promise<Outcome>
  /** Sends a chat completion, and reads the answer to its end. */
  readonly chat: (tenant: TenantName, call?: string) => Promise<Outcome>
  /** Sends a chat completion that may be answered by one of three models. */
  readonly ladder: (tenant: TenantName, call?: string) => Promise<Outcome>
  readonly pause: (ms: number) => Promise<void>
  /** Does `work` for 0 to `count - 1`, by `workers` at the same time. */
  readonly each: (
    count: number,
    workers: number,
    work: (index: number) => Promise<void>,
  ) => Promise<void>
  /** Makes the store unreachable, or reachable again. */
  readonly stopStore: () => Promise<void>
  readonly startStore: () => Promise<void>
  /** Moves the demo's clock to shortly before midnight. */
  readonly moveBeforeMidnight: (ms: number) => void
  /** Adds a sentence to the result of the run. */
  readonly conclude: (sentence: string) => void
}
