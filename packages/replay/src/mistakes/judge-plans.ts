import type { Plans } from '@sluice/core'

/** Returns a sentence for each plan that no call has, and for each plan of the log that is not defined. */
export function judgePlans(plans: Plans | undefined, logged: ReadonlySet<string>): string[] {
  if (!plans || logged.size === 0) return []
  const unknown = [...logged].filter((name) => !plans.get(name))
  // A log of one plan says nothing about the others.
  const unused =
    logged.size === 1 && unknown.length === 0 ? [] : plans.names.filter((name) => !logged.has(name))
  const names = [...logged].join(', ')
  return [
    ...unused.map(
      (name) => `No call has the plan "${name}": name it as the log does (${names}), or remove it.`,
    ),
    ...unknown.map(
      (name) =>
        `Calls have the plan "${name}", which is not defined, and get the limits of "${plans.defaultPlan}": define it.`,
    ),
  ]
}
