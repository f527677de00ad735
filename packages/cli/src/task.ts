import type { OperatorTask } from '@sluice/core/operator'
import { authorOf } from './author.ts'
import type { Values } from './command.ts'
import { refuse } from './errors.ts'
import type { LoadedLimiter } from './load-limiter.ts'
import { assertShared } from './shared-store.ts'
import { dimensionOption, keysOf, option, pair, startOf } from './wording.ts'

/** Returns the task of a command line. With `--yes`, it changes a store that the app shares. */
export function taskOf(values: Values, { limiter, file }: LoadedLimiter): OperatorTask {
  const words = { option, pair, dimension: dimensionOption, keysOf, startOf, file }
  const confirm = values['yes'] === true ? () => assertShared(limiter) : undefined
  return { limiter, words, author: authorOf(values), confirm }
}

/** Returns the tenant that a command names. @throws CommandError */
export function tenantIn(name: string, given: readonly string[]): { readonly tenant: string } {
  const [tenant, ...others] = given
  if (tenant !== undefined && others.length === 0) return { tenant }
  return refuse(`name one tenant, such as: sluice ${name} acme`)
}
