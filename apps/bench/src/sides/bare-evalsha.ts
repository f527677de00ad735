import type { Servers } from '../servers/servers.ts'

/** The fastest call of any script: an EVALSHA of `return 1`, sent by `fetch`. */
export async function bareEvalsha({ url, token, redis }: Servers): Promise<() => Promise<unknown>> {
  const sha = (await redis.script('LOAD', 'return 1')) as string
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  return async () => {
    const body = JSON.stringify(['EVALSHA', sha, 0])
    const response = await fetch(url, { method: 'POST', headers, body })
    return response.json()
  }
}
