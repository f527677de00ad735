import type { Clock } from '../clock.ts'
import type { Plans } from '../policies/plans.ts'
import type { Store } from '../stores/store.ts'
import type { Program } from './compile.ts'
import type { Emitters } from './events.ts'
import type { ExtensionInstance, Seam } from './extensions.ts'
import { ConfigError } from '../errors.ts'

/** A limiter's inside: what it decides with. */
export interface LimiterRuntime {
  readonly program: Program
  /** Answers in any case. */
  readonly store: Store
  /** Whole milliseconds. */
  readonly clock: Clock
  readonly clockIsInjected: boolean
  readonly plans: Plans | undefined
  readonly events: Emitters
  readonly extensions: readonly ExtensionInstance[]
  /** Set if there are extensions. */
  readonly seam: Seam | undefined
}

// A symbol of the registry, so that a package that was installed twice finds it.
const RUNTIME: unique symbol = Symbol.for('sluice.runtime') as never

/** Ties a limiter to its inside, for the functions of other entries. A copy of a limiter has it, too. */
export function withRuntime<T extends object>(limiter: T, runtime: LimiterRuntime): T {
  return Object.assign(limiter, { [RUNTIME]: runtime })
}

/** The inside of a limiter. @throws ConfigError When `limiter` was not made by `createLimiter`. */
export function runtimeOf(limiter: object): LimiterRuntime {
  const runtime = (limiter as { [RUNTIME]?: LimiterRuntime } | undefined)?.[RUNTIME]
  if (runtime !== undefined) return runtime
  throw new ConfigError('invalid_option', 'limiter', 'must be a limiter made by createLimiter')
}

/** The handle of the extension `name`. @throws ConfigError When the limiter has no such extension. */
// eslint-disable-next-line typescript/no-unnecessary-type-parameters -- the caller knows what its extension connects to
export function extensionHandle<Handle>(limiter: object, name: string, factory: string): Handle {
  const found = runtimeOf(limiter).extensions.find((extension) => extension.name === name)
  if (found !== undefined) return found.handle as Handle
  const message = `must have ${factory}(…) among its extensions for this call`
  throw new ConfigError('invalid_option', 'limiter', message)
}
