import type { PolicyRule } from '../policies/policy.ts'
import type { Subject } from '../subject.ts'

/** The route and model of a request that nobody knows any more, as rows of usage name them. */
export const UNKNOWN_REQUEST = { route: '(unknown)', model: '(unknown)' } as const

/** Returns all that is known of the subject of a reservation when it is released: the partition of its list, that of `per`. */
export const releasedSubject = (subject: Subject, { per }: Pick<PolicyRule, 'per'>): Subject => ({
  ...Object.fromEntries(Object.entries(subject).filter(([name]) => per.includes(name))),
  ...UNKNOWN_REQUEST,
})
