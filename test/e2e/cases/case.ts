import type { Target } from '../support/target.ts'

/** A claim about an app that limits the four AI routes, whatever it runs on. */
export interface Case {
  readonly claim: string
  readonly check: (target: Target) => Promise<void>
}

/** Every header by which a response speaks of limits. */
export function limitHeaders({ headers }: Response): Record<string, string> {
  const isOfLimits = /^(x-ratelimit-.*|ratelimit(-policy)?|retry-after(-ms)?|x-should-retry)$/
  return Object.fromEntries([...headers].filter(([name]) => isOfLimits.test(name)))
}
