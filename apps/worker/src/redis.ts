import type { RedisSettings } from './env.ts'

/** Sends a command to Redis, and returns its reply. Throws if there is none. */
export type Redis = (...command: string[]) => Promise<unknown>

/** Reaches a Redis over the Upstash REST protocol. */
export function redisAt({ url, token, timeoutMs }: RedisSettings): Redis {
  return async (...command) => {
    const response = await fetch(url, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify(command),
      // A redirect would take the token to another host.
      redirect: 'manual',
      signal: AbortSignal.timeout(timeoutMs),
    }).catch((cause: unknown) => {
      throw new Error('Redis cannot be reached', { cause })
    })
    const answer: unknown = response.ok ? await response.json() : undefined
    if (typeof answer === 'object' && answer !== null && 'result' in answer) return answer.result
    throw new Error(`Redis answered ${command[0]} with status ${response.status}`)
  }
}
