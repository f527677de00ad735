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
