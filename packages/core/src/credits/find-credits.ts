import type { CompiledPolicy } from '../limiter/compile.ts'
import type { Subject } from '../subject.ts'
import { assertSubject } from '../limiter/call.ts'
import { keysOf } from '../limiter/resolve.ts'
import { runtimeOf, type LimiterRuntime } from '../limiter/runtime.ts'
import { assertKnownOptions, assertOneOf, invalidOption } from '../internal/validation.ts'
import { digestLongValues } from '../subject.ts'

/** The choice of a policy, for a limiter with several of `credits`. */
export interface CreditsChoice {
  /** The name of the policy. @default the only one of `credits` */
  readonly policy?: string
}

/** The balance of a subject: its policy and its keys. */
export interface Account {
  readonly runtime: LimiterRuntime
  readonly compiled: CompiledPolicy
  readonly key: string
  /** The key of the ids of its grants. */
  readonly idsKey: string
}

/**
 * Finds the balance of a subject.
 *
 * @param call The function that asks, and the names of its options beside `policy`.
 * @throws ConfigError When an option is unknown, the limiter has no credits, or `policy` names none of them.
 * @throws InputError When the subject lacks a dimension.
 */
export async function accountIn(
  limiter: object,
  subject: Subject,
  options: CreditsChoice,
  [name, ...known]: readonly [name: string, ...known: string[]],
): Promise<Account> {
  assertKnownOptions(name, options, [...known, 'policy'])
  assertSubject(subject)
  const { policy } = options
  const runtime = runtimeOf(limiter)
  const { program } = runtime
  const all = program.compiled.filter((one) => one.policy.algorithm.traits?.balance)
  if (all.length === 0) throw invalidOption('limiter', 'must have a policy of credits')
  const names = all.map((one) => one.policy.name)
  if (all.length > 1 || policy !== undefined) assertOneOf('policy', policy, names)
  const compiled = all.find((one) => one.policy.name === (policy ?? names[0])) as CompiledPolicy
  const digests = await digestLongValues(subject, program.dimensions)
  const [key = ''] = keysOf(compiled, subject, digests)
  return { runtime, compiled, key, idsKey: `grants:${key}` }
}
