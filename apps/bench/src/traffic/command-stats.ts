import type { Redis } from 'ioredis'

/** The calls of a command, and the microseconds that they took. */
interface CommandStats {
  readonly calls: number
  readonly usec: number
}

/** Returns what `INFO commandstats` says of the commands that ran during `work`, by their names. */
export async function statsOf(
  redis: Redis,
  work: () => Promise<unknown>,
): Promise<ReadonlyMap<string, CommandStats>> {
  await redis.config('RESETSTAT')
  await work()
  const info = await redis.info('commandstats')
  const rows = info.matchAll(/^cmdstat_(\S+?):calls=(\d+),usec=(\d+)/gm)
  const stats = new Map(
    Array.from(rows, ([, name = '', calls, usec]) => [
      name,
      { calls: Number(calls), usec: Number(usec) },
    ]),
  )
  // Our own questions.
  for (const name of ['config|resetstat', 'info']) stats.delete(name)
  return stats
}
