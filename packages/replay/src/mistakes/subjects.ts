import type { PolicyState } from '@sluice/core'
import type { Call } from '../call.ts'
import type { PolicySet } from '../simulation/policy-set.ts'
import { createTwin } from '../simulation/twin.ts'

/** The calls of one subject. */
interface SubjectCalls {
  readonly call: Call
  calls: number
  /** The smallest cost of a call in each unit. */
  readonly least: Record<string, number>
}

/** The limits of one subject. */
export interface SubjectLimits extends SubjectCalls {
  readonly policies: readonly PolicyState[]
}

type Dimensions = Readonly<Record<string, string | undefined>>

/** The most subjects that are remembered: the mistakes of limits show in the first ones. */
const MAX_SUBJECTS = 10_000

/** Collects the subjects of a log. */
export interface Subjects {
  add(call: Call, usd: number): void
  /** Returns the limits of each subject, without charging anything. */
  limits(set: PolicySet): Promise<SubjectLimits[]>
  /** The plans of the log. */
  readonly plans: ReadonlySet<string>
}

/** Creates an empty collection. @param units The units whose smallest costs matter. */
export function createSubjects(units: readonly string[]): Subjects {
  const subjects = new Map<string, SubjectCalls>()
  const plans = new Set<string>()
  return {
    plans,
    add(call, usd) {
      const { plan } = call.subject
      if (plan !== undefined) plans.add(plan)
      let key = ''
      for (const dimension in call.subject) key += `\n${(call.subject as Dimensions)[dimension]}`
      let own = subjects.get(key)
      if (own === undefined) {
        if (subjects.size >= MAX_SUBJECTS) return
        subjects.set(key, (own = { call, calls: 0, least: {} }))
      }
      own.calls += 1
      for (const unit of units) {
        const cost = unit === 'usd' ? usd : call.units[unit]
        if (cost !== undefined && !(cost >= (own.least[unit] ?? Infinity))) own.least[unit] = cost
      }
    },
    async limits(set) {
      const twin = createTwin(set.rules, set.plans, set.configuration)
      const found: SubjectLimits[] = []
      for (const own of subjects.values()) {
        const { policies } = await twin.peek(own.call, own.least['usd'] ?? 0)
        found.push({ ...own, policies })
      }
      return found
    },
  }
}
