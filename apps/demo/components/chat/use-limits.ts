import { useCallback, useEffect, useState } from 'react'
import { fetchBudgets, type Budget } from '../console/api'
import { tokenOf } from './api'

const REFRESH_EVERY_MS = 200
/** The time after the work in which calls may still be settled. */
const SETTLE_WITHIN_MS = 3_000

/** The rest of a tenant's chat limits. `watch` refreshes it while some work runs. */
export function useLimits(tenant: string) {
  const [limits, setLimits] = useState<readonly Budget[]>([])

  const refresh = useCallback(async () => {
    const current = await fetchBudgets('chat', await tokenOf(tenant))
    setLimits(current)
    return current
  }, [tenant])

  useEffect(() => {
    refresh().catch(() => setLimits([]))
  }, [refresh])

  const watch = useCallback(
    async <T>(work: () => Promise<T>): Promise<T> => {
      let until = Infinity
      const refreshing = (async () => {
        for (;;) {
          const current = await refresh().catch(() => [])
          if (performance.now() > until) return
          if (until < Infinity && isIdle(current)) return
          await new Promise((resolve) => setTimeout(resolve, REFRESH_EVERY_MS))
        }
      })()
      try {
        return await work()
      } finally {
        until = performance.now() + SETTLE_WITHIN_MS
        await refreshing
      }
    },
    [refresh],
  )

  return { limits, watch }
}

const isIdle = (limits: readonly Budget[]): boolean =>
  limits.every(({ name, limit, remaining }) => name !== 'in-flight' || remaining === limit)
