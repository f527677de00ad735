import { useCallback, useEffect, useState } from 'react'
import { fetchBudgets, fetchToken, type Budget } from './api'

/** Stands for a client without a JWT. */
export const NO_TENANT = 'nobody'

interface BudgetsAt {
  readonly budgets: readonly Budget[]
  readonly at: number
}

const UNKNOWN: BudgetsAt = { budgets: [], at: 0 }

/** The budgets of a tenant on a route, and their age in milliseconds. */
export function useBudgets(tenant: string, route: string) {
  const [known, setKnown] = useState(UNKNOWN)
  const [now, setNow] = useState(0)
  const refresh = useCallback(async () => {
    const budgets = tenant === NO_TENANT ? [] : await fetchBudgets(route, await fetchToken(tenant))
    setKnown({ budgets, at: performance.now() })
    setNow(performance.now())
  }, [tenant, route])
  const ageMs = Math.max(0, now - known.at)
  const isOutdated = known.budgets.some(
    ({ limit, remaining, resetMs }) => remaining < limit && ageMs > resetMs,
  )

  useEffect(() => {
    const timer = setInterval(() => setNow(performance.now()), 1_000)
    return () => clearInterval(timer)
  }, [])
  useEffect(() => {
    refresh().catch(() => setKnown(UNKNOWN))
  }, [refresh, isOutdated])

  return { budgets: known.budgets, ageMs, refresh }
}
