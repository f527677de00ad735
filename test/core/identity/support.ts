import { fixedWindow } from '@sluice/core'
import { rateLimit, type SubjectResolver } from '@sluice/core/http'
import { setUp } from '../../support/limiters.ts'
import { NOON } from '../../support/times.ts'

export const NOON_SECONDS = NOON / 1000

/** A handler behind a resolver, in front of a limit that is counted in memory. */
export function guarded(subject: SubjectResolver, limit = 1_000) {
  const { limiter } = setUp([fixedWindow({ name: 'rpm', limit, window: '1h', per: 'global' })])
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
