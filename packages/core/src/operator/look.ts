/* The reading of a store by an operator. */
import { readConfiguration } from '../configuration/configure.ts'
import type { ConfigurationEntry } from '../configuration/document.ts'
import type { Decision, PolicyState } from '../decision.ts'
import { ConfigError, StoreError } from '../errors.ts'
import type { Limiter } from '../limiter/limiter.ts'
import { definitionOf, runtimeOf } from '../limiter/runtime.ts'
import type { Dimensions } from './task.ts'

/**
 * Returns a decision that asks for nothing: the state of each policy. It charges and writes nothing.
 *
 * @throws StoreError When the store refuses.
 */
export async function look(limiter: Limiter, subject: Dimensions): Promise<Decision> {
  const names = definitionOf(limiter).rules.map(({ unit }) => unit)
  const nothing = Object.fromEntries(names.map((unit) => [unit, 0]))
  const decision = await limiter.peek(subject, { cost: { request: 0, ...nothing } })
  await assertNotRefused(limiter, decision.degraded?.cause)
  return decision
}

/** As `look`. @throws StoreError When the store did not decide: then nobody knows what is left. */
export async function lookInStore(limiter: Limiter, subject: Dimensions): Promise<Decision> {
  const decision = await look(limiter, subject)
  if (decision.degraded) throw new StoreError(decision.degraded.cause, 'The store failed')
  return decision
}

/** Completes a subject, so that all policies count for it. */
export function fullSubject(limiter: Limiter, subject: Dimensions): Dimensions {
  const { rules } = definitionOf(limiter)
  const dimensions = rules.flatMap(({ per }) => (per === 'global' ? [] : per))
  const named = Object.fromEntries(dimensions.map((name) => [name, 'sluice-command']))
  const route = rules.flatMap(({ routes = [] }) => routes)[0]
  return { ...named, ...(route !== undefined && { route }), ...subject }
}

/** Returns the units of a policy that are used up. */
export const usedOf = ({ burst, remaining }: PolicyState): number => Math.max(0, burst - remaining)

/** Returns the settings in the store: none for a limiter without them. */
export const settingsOf = (
  limiter: Limiter,
  subject?: Dimensions,
): Promise<readonly ConfigurationEntry[]> =>
  unlessLacking(readConfiguration(limiter, ...(subject ? [subject] : [])), [])

/** Returns the result of a call, or `otherwise` if the limiter lacks the extension that it needs. */
export const unlessLacking = <Result>(call: Promise<Result>, otherwise: Result): Promise<Result> =>
  call.catch((error: unknown) => {
    if (lacksExtension(error)) return otherwise
    throw error
  })

/** Returns true if a call failed because the limiter lacks the extension that it needs. */
export const lacksExtension = (error: unknown): boolean =>
  error instanceof ConfigError && error.option === 'limiter'

const NO_KEY = 'sluice-command'

/**
 * Fails in the words of a store that refuses: a decision without it, and an error about it, have the code alone. A file
 * says that the app has to be stopped first.
 *
 * @param code The code of the failure.
 * @throws StoreError
 */
export async function assertNotRefused(limiter: Limiter, code: string | undefined): Promise<void> {
  if (code !== 'store_refused') return
  try {
    await runtimeOf(limiter).store.reset([NO_KEY])
  } catch (error) {
    if (error instanceof StoreError) throw error
  }
}
