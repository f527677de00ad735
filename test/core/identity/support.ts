import { createLimiter, fixedWindow, manualClock } from '@sluice/core'
import { memory } from '@sluice/core/memory'
import { rateLimit, type SubjectResolver } from '@sluice/core/http'

/** Noon, so that nothing happens at midnight. */
export const NOW = Date.UTC(2026, 0, 1, 12)
export const NOW_SECONDS = NOW / 1000

/** A handler behind a resolver, in front of a limit that is counted in memory. */
export function guarded(subject: SubjectResolver, limit = 1_000) {
  const clock = manualClock(NOW)
  const store = memory()
  const limiter = createLimiter({
    store,
    clock,
    policies: [fixedWindow({ name: 'rpm', limit, window: '1h', per: 'global' })],
  })
  const fetch = rateLimit(limiter, { routes: ['/**'], subject }, () => new Response('answer'))
  return {
    ask: (headers: Record<string, string> = {}) =>
      fetch(new Request('https://app.example/', { headers })),
    /** The number of requests charged so far. */
    charged: async () => {
      const { policies } = await limiter.peek({})
      return limit - (policies[0]?.remaining ?? 0)
    },
  }
}

/** The status, headers and body of an answer as one text. */
export async function textOf(answer: Response): Promise<string> {
  return (
    JSON.stringify([answer.status, answer.statusText, ...answer.headers]) + (await answer.text())
  )
}
