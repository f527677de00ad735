import type { Store } from './target.ts'

/** Reads all keys and values of a Redis, as one text. */
export async function redisText({ url, token }: Pick<Store, 'url' | 'token'>): Promise<string> {
  const run = async (...command: string[]): Promise<unknown> => {
    const headers = { authorization: `Bearer ${token}` }
    const answer = await fetch(url, { method: 'POST', headers, body: JSON.stringify(command) })
    return ((await answer.json()) as { result: unknown }).result
  }
  const names = (await run('KEYS', '*')) as string[]
  const values = names.map(async (name) => {
    const type = String(await run('TYPE', name))
    const read = READERS[type]
    if (read === undefined) throw new Error(`"${name}" is a ${type}, which nobody reads here`)
    return [name, await run(...read(name))]
  })
  return JSON.stringify(await Promise.all(values))
}

const READERS: Readonly<Record<string, (name: string) => string[]>> = {
  string: (name) => ['GET', name],
  hash: (name) => ['HGETALL', name],
  // It has expired, or was deleted, since its name was read.
  none: (name) => ['GET', name],
  zset: (name) => ['ZRANGE', name, '0', '-1', 'WITHSCORES'],
}
