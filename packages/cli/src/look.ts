import { definitionOf, type Decision, type Limiter } from '@sluice/core'

/** Returns a decision that asks for nothing: the state of each policy. It charges and writes nothing. */
export const look = (
  limiter: Limiter,
  subject: Readonly<Record<string, string>>,
): Promise<Decision> => {
  const names = definitionOf(limiter).rules.map(({ unit }) => unit)
  const nothing = Object.fromEntries(names.map((unit) => [unit, 0]))
  return limiter.peek(subject, { cost: { request: 0, ...nothing } })
}
