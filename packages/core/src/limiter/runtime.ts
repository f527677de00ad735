import type { Clock } from '../clock.ts'
import type { Plans } from '../policies/plans.ts'
import type { PolicyRule } from '../policies/policy.ts'
import type { Store, StoreRequest } from '../stores/store.ts'
import type { Program } from './compile.ts'
import type { Emitters, ExtensionInstance, Seam } from './extensions.ts'
import type { DecideCall, Outcome } from './outcome.ts'
import { invalidOption } from '../internal/validation.ts'

/** The parts of a limiter that its functions work with. */
export interface LimiterRuntime {
  readonly program: Program
  /** Never fails to decide: it degrades as `onStoreError` says. */
  readonly store: Store
  /** Whole milliseconds. */
  readonly clock: Clock
  readonly clockIsInjected: boolean
  readonly plans: Plans | undefined
  readonly events: Emitters
  readonly extensions: readonly ExtensionInstance[]
  /** Set if there are extensions. */
  readonly seam: Seam | undefined
  /** Decides a call of requests that wait, as often as it takes. @default `decide`, which decides at once */
  readonly wait?: (runtime: LimiterRuntime, call: DecideCall) => Promise<Outcome>
}

/** Returns a runtime that asks its store what `ask` returns. The decision has the entries as they were. */
export function decidedBy(
  runtime: LimiterRuntime,
  ask: (request: StoreRequest) => StoreRequest,
): LimiterRuntime {
  const { store } = runtime
  return { ...runtime, store: { ...store, check: (request) => store.check(ask(request)) } }
}

// A registered symbol, so that a second copy of this package finds it, too.
const RUNTIME: unique symbol = Symbol.for('sluice.runtime') as never

/** Attaches the runtime to a limiter, for functions such as `reserve`. A copy of the limiter keeps it. */
export function withRuntime<T extends object>(limiter: T, runtime: LimiterRuntime): T {
  return Object.assign(limiter, { [RUNTIME]: runtime })
}

/** Returns the runtime of a limiter, if `createLimiter` created it. */
export function findRuntime(limiter: object): LimiterRuntime | undefined {
  return (limiter as { [RUNTIME]?: LimiterRuntime } | undefined)?.[RUNTIME]
}

/** Returns the runtime of a limiter. @throws ConfigError When `createLimiter` did not create `limiter`. */
export function runtimeOf(limiter: object): LimiterRuntime {
  const runtime = findRuntime(limiter)
  if (runtime !== undefined) return runtime
  throw invalidOption('limiter', 'must be created by createLimiter')
}

/** The rules and plans that a limiter was created with. */
export interface LimiterDefinition {
  /** The rules, in the limiter's order. One policy may have several. */
  readonly rules: readonly PolicyRule[]
  readonly plans: Plans | undefined
}

/**
 * Returns the rules and plans of a limiter, for tools that decide by them elsewhere, such as a replay.
 *
 * @throws ConfigError When `createLimiter` did not create `limiter`.
 * @example
 * const { rules, plans } = definitionOf(limiter)
 * const twin = createLimiter({ store: memory(), policies: [() => rules], ...(plans && { plans }) })
 */
export function definitionOf(limiter: object): LimiterDefinition {
  const { program, plans } = runtimeOf(limiter)
  return { rules: program.policies, plans }
}

/**
 * Returns the `handle` of an extension, for functions that work with it.
 *
 * @param name The name of the extension.
 * @param factory The function that creates the extension, which the error names.
 * @throws ConfigError When the limiter has no extension of this name.
 * @example
 * const handle = extensionHandle<{ refresh(): Promise<void> }>(limiter, 'flags', 'flags')
 */
// eslint-disable-next-line typescript/no-unnecessary-type-parameters -- the caller knows what its extension connects to
export function extensionHandle<Handle>(limiter: object, name: string, factory: string): Handle {
  const instance = runtimeOf(limiter).extensions.find((extension) => extension.name === name)
  if (instance !== undefined) return instance.handle as Handle
  throw invalidOption('limiter', `must have ${factory}(…) in its extensions for this call`)
}
