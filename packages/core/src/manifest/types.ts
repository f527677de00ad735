import type { Burst, Limit } from '../policies/limit.ts'
import type { BackpressureOptions } from '../policies/backpressure.ts'
import type { RolloutOptions } from '../policies/rollout.ts'
import type { ConcurrencyOptions } from '../policies/concurrency.ts'
import type { FixedWindowOptions } from '../policies/fixed-window.ts'
import type { LeakyBucketOptions } from '../policies/leaky-bucket.ts'
import type { SlidingWindowCounterOptions } from '../policies/sliding-window-counter.ts'
import type { SlidingWindowOptions } from '../policies/sliding-window.ts'
import type { SlidingWindowsOptions } from '../policies/sliding-windows.ts'
import type { TokenBucketOptions } from '../policies/token-bucket.ts'
import type { Policy, PolicyOptions } from '../policies/policy.ts'
import type { RouteCost, RouteOptions } from '../routes/matcher.ts'

/** A limit of the subject's plan, by its name: what JSON has in place of a function. */
export interface PlanLimit {
  readonly plan: string
}

/** The options of the factory that each algorithm is named after. */
export interface OptionsOf {
  readonly slidingWindow: SlidingWindowOptions
  readonly slidingWindows: SlidingWindowsOptions
  readonly slidingWindowCounter: SlidingWindowCounterOptions
  readonly fixedWindow: FixedWindowOptions
  readonly tokenBucket: TokenBucketOptions
  readonly leakyBucket: LeakyBucketOptions
  readonly dailyCap: PolicyOptions
  readonly monthlyCap: PolicyOptions
  readonly concurrency: ConcurrencyOptions
}

/** Parts of a policy that JSON has as plain data. */
interface PartsOf {
  readonly rollout: RolloutOptions
  readonly backpressure: BackpressureOptions
}

/** The options of a factory, in which a limit may also be that of a plan by its name. */
type WithPlanLimits<Options> = Options extends unknown
  ? {
      readonly [Key in keyof Options]: Key extends 'limit' | 'burst'
        ? Options[Key] | PlanLimit
        : Key extends keyof PartsOf
          ? Options[Key] | PartsOf[Key]
          : Key extends 'windows'
            ? Readonly<Record<string, WithPlanLimits<{ limit: Limit; window: WindowOf<Options> }>>>
            : Options[Key]
    }
  : never

type WindowOf<Options> = Options extends { windows: Readonly<Record<string, { window: infer W }>> }
  ? W
  : never

/** A policy as plain data: the name of the factory and its options. */
export type PolicySpec = {
  [Name in keyof OptionsOf]: { readonly algorithm: Name } & WithPlanLimits<OptionsOf[Name]>
}[keyof OptionsOf]

/** A policy as plain data, or one made by a factory. */
export type ManifestPolicy = PolicySpec | Policy

/** What is different about a policy on one route. */
export interface PolicyOverride {
  /** Units allowed per window for requests to this route. */
  readonly limit?: Exclude<Limit, 'configured'> | PlanLimit
  /** Of a bucket: the most units at once for requests to this route. */
  readonly burst?: Burst | PlanLimit
}

/** A route of a manifest. */
export interface ManifestRoute<Context extends unknown[] = []> extends RouteOptions<Context> {
  /** The path pattern, without the manifest's `basePath`. */
  readonly path: string
  /** Policies for requests to this route only. @default none */
  readonly policies?: readonly ManifestPolicy[]
  /**
   * By the name of a policy of the manifest, what is different about it on this route; `false` leaves
   * it out there. The count stays the same one: a policy that is to count each route by itself has
   * `'route'` in its `per`. @default none
   */
  readonly overrides?: Readonly<Record<string, PolicyOverride | false>>
  /**
   * Requests a minute to this route: short for a `tokenBucket` named after its `per`, such as
   * `rpm-per-route`. A number of 0 or less means no limit, as in gateways' files. @default none
   */
  readonly rpm?: Exclude<Limit, 'configured'> | PlanLimit
  /** The most requests at once, with `rpm`. @default as many as `rpm` */
  readonly burst?: Burst | PlanLimit
  /** Whose requests to this route `rpm` counts. @default everyone's together */
  readonly per?: readonly string[]
}

/** Routes and their limits in one place. Without functions it is JSON. */
export interface Manifest<Context extends unknown[] = []> {
  /** What every path begins with: `/api`. No part of it is the `basePath` of Next.js. @default none */
  readonly basePath?: string
  /** For routes that do not say otherwise. */
  readonly defaults?: {
    /** @default all */
    readonly methods?: readonly string[]
    /** @default the adapter's own `cost`, else 1 request */
    readonly cost?: RouteCost<Context>
  }
  /** Policies for every route, in the order in which a denial names them. @default none */
  readonly policies?: readonly ManifestPolicy[]
  /** The routes; what matches none of them is not limited. */
  readonly routes: readonly (string | ManifestRoute<Context>)[]
}
