import { useCallback, useEffect, useState } from 'react'
import { fetchBudgets, type Budget } from '../console/api'
import { tokenOf } from './api'

const LOOK_EVERY_MS = 200
/** For how long after the work is done a call may still be in flight. */
const SETTLE_WITHIN_MS = 3_000

/** What is left of a tenant's chat limits; `watch` keeps looking while some work is done. */
export function useLimits(tenant: string) {
  const [limits, setLimits] = useState<readonly Budget[]>([])

  const look = useCallback(async () => {
    const now = await fetchBudgets('chat', await tokenOf(tenant))
    setLimits(now)
    return now
  }, [tenant])

  useEffect(() => {
    look().catch(() => setLimits([]))
  }, [look])

  const watch = useCallback(
    async <T>(work: () => Promise<T>): Promise<T> => {
      let until = Infinity
      const looking = (async () => {
        for (;;) {
          const now = await look().catch(() => [])
          if (performance.now() > until) return
          if (until < Infinity && isIdle(now)) return
          await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS))
        }
      })()
      try {
        return await work()
      } finally {
        until = performance.now() + SETTLE_WITHIN_MS
        await looking
      }
    },
    [look],
  )

  return { limits, watch }
}

const isIdle = (limits: readonly Budget[]): boolean =>
  limits.every(({ name, limit, remaining }) => name !== 'in-flight' || remaining === limit)
