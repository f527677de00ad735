import type { Servers } from '../servers/servers.ts'

/** The least that a decision in Redis can take: an EVALSHA of `return 1` by `fetch`. */
export async function bareEvalsha({ url, token, redis }: Servers): Promise<() => Promise<unknown>> {
  const sha = (await redis.script('LOAD', 'return 1')) as string
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  return async () => {
    const body = JSON.stringify(['EVALSHA', sha, 0])
    const response = await fetch(url, { method: 'POST', headers, body })
    return response.json()
  }
}
