import type { Problem } from '../limiter/events.ts'
import type { Plans } from '../policies/plans.ts'
import type { PlanSearchParts } from './plan-search.ts'
import { unknownPlan } from '../limiter/problems.ts'

/** Looks up the name of a tenant's plan, for example in a database. */
export type PlanOf = (
  tenant: string,
  context: {
    /** Aborts after the resolver's `timeoutMs`. */
    readonly signal: AbortSignal
  },
) => string | Promise<string>

const LATE = Symbol('late')

/** Returns functions that call the resolver of one limiter, and report its failures as problems. */
export function resolverCall(
  planOf: PlanOf,
  timeoutMs: number,
  plans: Plans,
  problem: (problem: Problem) => void,
): Pick<PlanSearchParts, 'resolve' | 'definedPlan'> {
  function definedPlan(name: string | undefined): string | undefined {
    if (name === undefined || plans.get(name)) return name
    problem(unknownPlan(name, 'resolver'))
    return undefined
  }

  function reportFailure(what: string, error?: unknown): undefined {
    problem({ code: 'plan_resolver_failed', message: `The plan resolver ${what}`, error })
  }

  async function resolve(id: string): Promise<string | undefined> {
    try {
      const name = await withTimeout(timeoutMs, (signal) => planOf(id, { signal }))
      if (name === LATE) return reportFailure(`did not answer within ${timeoutMs} ms`)
      return typeof name === 'string'
        ? definedPlan(name)
        : reportFailure('returned no name of a plan')
    } catch (error) {
      return reportFailure('threw', error)
    }
  }

  return { resolve, definedPlan }
}

/** Resolves or rejects as `call` does. After `timeoutMs`, aborts its signal and resolves to `LATE`. */
async function withTimeout(
  timeoutMs: number,
  call: (signal: AbortSignal) => unknown,
): Promise<unknown> {
  const controller = new AbortController()
  let timer: ReturnType<typeof setTimeout> | undefined
  const late = new Promise<typeof LATE>((resolve) => {
    timer = setTimeout(() => {
      resolve(LATE)
      controller.abort()
    }, timeoutMs)
  })
  try {
    return await Promise.race([call(controller.signal), late])
  } finally {
    clearTimeout(timer)
  }
}
