import { AMPLE, tenants } from '../limits.ts'
import { CONTESTS } from '../reference/contests.ts'
import type { Servers } from '../servers/servers.ts'

/**
 * The least that an exact decision with a deadline can take: a script written by hand for just these
 * policies, sent by `fetch` with a signal and a timer. Nothing is validated, and nothing made of the reply.
 */
export async function byHand(
  { url, token, redis }: Servers,
  title: string,
): Promise<() => Promise<unknown>> {
  const contest = CONTESTS.find((one) => one.title === title)
  if (contest === undefined) throw new Error(`No script is written by hand for "${title}"`)
  const sha = (await redis.script('LOAD', contest.script)) as string
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const tenant = tenants()
  let count = 0
  return async () => {
    count += 1
    const { keys, args } = contest.call(AMPLE, tenant(), count.toString(36).padStart(12, 'h'))
    const body = JSON.stringify(['EVALSHA', sha, keys.length, ...keys, ...args.map(String)])
    const controller = new AbortController()
    const timer = setTimeout(() => controller.abort(), 10_000)
    const { signal } = controller
    const response = await fetch(url, { method: 'POST', headers, body, signal })
    const reply = JSON.parse(await response.text()) as unknown
    clearTimeout(timer)
    return reply
  }
}
