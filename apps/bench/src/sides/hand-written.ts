import { AMPLE, tenants } from '../limits.ts'
import { COMPARISONS } from '../reference/comparisons.ts'
import type { Servers } from '../servers/servers.ts'

/**
 * The fastest exact decision with a deadline: a script written for these policies only, sent by `fetch`
 * with a signal and a timer. It validates nothing and leaves the reply as it is.
 */
export async function handWrittenScript(
  { url, token, redis }: Servers,
  title: string,
): Promise<() => Promise<unknown>> {
  const comparison = COMPARISONS.find((candidate) => candidate.title === title)
  if (comparison === undefined) throw new Error(`There is no hand-written script for "${title}"`)
  const sha = (await redis.script('LOAD', comparison.script)) as string
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const tenant = tenants()
  let count = 0
  return async () => {
    count += 1
    const { keys, args } = comparison.call(AMPLE, tenant(), count.toString(36).padStart(12, 'h'))
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
