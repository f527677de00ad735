import type { Burst, Limit } from '../policies/limit.ts'
import type { BackpressureOptions } from '../policies/backpressure.ts'
import type { RolloutOptions } from '../policies/rollout.ts'
import type { ConcurrencyOptions } from '../policies/concurrency.ts'
import type { CalendarOptions } from '../calendars/options.ts'
import type { CapOptions, FixedWindowOptions } from '../policies/fixed-window.ts'
import type { Calendar } from '../policies/resets.ts'
import type { LeakyBucketOptions } from '../policies/leaky-bucket.ts'
import type { SessionWindowOptions } from '../policies/session-window.ts'
import type { SlidingWindowCounterOptions } from '../policies/sliding-window-counter.ts'
import type { SlidingWindowOptions } from '../policies/sliding-window.ts'
import type { SlidingWindowsOptions } from '../policies/sliding-windows.ts'
import type { TokenBucketOptions } from '../policies/token-bucket.ts'
import type { Policy } from '../policies/policy.ts'
import type { RouteCost, RouteOptions } from '../routes/matcher.ts'

/** A limit of the subject's plan, by its name. In JSON it takes the place of a function. */
export interface PlanLimit {
  readonly plan: string
}

/** The options of each policy factory, by the factory's name. */
export interface OptionsOf {
  readonly slidingWindow: SlidingWindowOptions
  readonly slidingWindows: SlidingWindowsOptions
  readonly slidingWindowCounter: SlidingWindowCounterOptions
  readonly fixedWindow: FixedWindowOptions
  readonly tokenBucket: TokenBucketOptions
  readonly leakyBucket: LeakyBucketOptions
  readonly dailyCap: CapOptions
  readonly monthlyCap: CapOptions
  readonly sessionWindow: SessionWindowOptions
  readonly concurrency: ConcurrencyOptions
}

/** Parts of a policy that may be plain data. */
interface PartsOf {
  readonly rollout: RolloutOptions
  readonly backpressure: BackpressureOptions
  /** With `{ calendar }` as the second argument of `defineManifest`. */
  readonly resets: CalendarOptions
}

/** Functions that a manifest uses, passed in so that others do not bundle them. */
export interface ManifestParts {
  /** `calendar` of `@sluice/core/calendars`, for `resets` as plain data. @default only calendars that it has made */
  readonly calendar?: (options: CalendarOptions) => Calendar
}

/** The options of a factory, in which a limit may also be a `PlanLimit`. */
type WithPlanLimits<Options> = Options extends unknown
  ? {
      readonly [Key in keyof Options]: Key extends 'limit' | 'burst'
        ? Options[Key] | PlanLimit
        : Key extends keyof PartsOf
          ? [Options[Key]] extends [undefined]
            ? Options[Key]
            : Options[Key] | PartsOf[Key]
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

/** Limits of a policy that are different on one route. */
export interface PolicyOverride {
  /** Units allowed per window for requests to this route. */
  readonly limit?: Exclude<Limit, 'configured'> | PlanLimit
  /** The most units that a bucket allows at once for requests to this route. */
  readonly burst?: Burst | PlanLimit
}

/** A route of a manifest. */
export interface ManifestRoute<Context extends unknown[] = []> extends RouteOptions<Context> {
  /** The path pattern, without the manifest's `basePath`. */
  readonly path: string
  /** Policies for requests to this route only. @default none */
  readonly policies?: readonly ManifestPolicy[]
  /**
   * Other limits on this route for policies of the manifest, by the policy's name; `false` leaves the
   * policy out here. It still counts all its routes together, unless its `per` has `'route'`.
   *
   * @default none
   */
  readonly overrides?: Readonly<Record<string, PolicyOverride | false>>
  /**
   * Requests per minute to this route: short for a `tokenBucket` named after its `per`, such as
   * `rpm-per-route`. A number of 0 or less means no limit, as in gateways' files.
   *
   * @default none
   */
  readonly rpm?: Exclude<Limit, 'configured'> | PlanLimit
  /** The most requests at once, with `rpm`. @default as many as `rpm` */
  readonly burst?: Burst | PlanLimit
  /** The dimensions that `rpm` counts by, besides the route. @default everyone's requests together */
  readonly per?: readonly string[]
}

/** Routes and their limits in one place. Without functions it is JSON. */
export interface Manifest<Context extends unknown[] = []> {
  /** The beginning of every path, such as `/api`, without the `basePath` of Next.js. @default none */
  readonly basePath?: string
  /** Options of the routes that do not have their own. */
  readonly defaults?: {
    /** @default all */
    readonly methods?: readonly string[]
    /** @default the adapter's own `cost`, else 1 request */
    readonly cost?: RouteCost<Context>
  }
  /** Policies for every route, in the order in which a denial names them. @default none */
  readonly policies?: readonly ManifestPolicy[]
  /** The routes. A request that matches none of them is not limited. */
  readonly routes: readonly (string | ManifestRoute<Context>)[]
}
