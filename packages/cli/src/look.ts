import { definitionOf, type Decision, type Limiter } from '@sluice/core'
import { assertNotRefused } from './store-refusal.ts'

/**
 * Returns a decision that asks for nothing: the state of each policy. It charges and writes nothing.
 *
 * @throws StoreError When the store refuses.
 */
export async function look(
  limiter: Limiter,
  subject: Readonly<Record<string, string>>,
): Promise<Decision> {
  const names = definitionOf(limiter).rules.map(({ unit }) => unit)
  const nothing = Object.fromEntries(names.map((unit) => [unit, 0]))
  const decision = await limiter.peek(subject, { cost: { request: 0, ...nothing } })
  await assertNotRefused(limiter, decision.degraded?.cause)
  return decision
}

/** Completes a subject, so that all policies count for it. */
export function fullSubject(
  limiter: Limiter,
  subject: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  const { rules } = definitionOf(limiter)
  const dimensions = rules.flatMap(({ per }) => (per === 'global' ? [] : per))
  const named = Object.fromEntries(dimensions.map((name) => [name, 'sluice-command']))
  const route = rules.flatMap(({ routes = [] }) => routes)[0]
  return { ...named, ...(route !== undefined && { route }), ...subject }
}
