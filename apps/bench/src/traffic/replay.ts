import type { Redis } from 'ioredis'
import type { RedisCommand, Traffic } from './record.ts'

/** The cost of a replay to Redis, per decision. */
export interface Replay {
  /** Microseconds in EVALSHA, from `INFO commandstats`. */
  readonly microseconds: number
  /** The commands that Upstash bills: EVALSHA and those inside the script. */
  readonly commands: number
  /** Commands that add a charge. */
  readonly writes: number
}

/** The number of commands in one pipeline. */
const PIPELINE = 500

// Stock Redis refuses Upstash's flag.
const FLAG = /^#!lua [^\n]*/

/**
 * Sends the traffic to an empty database. The first half fills it; the second half is measured, per
 * decision.
 */
export async function replay(redis: Redis, traffic: Traffic, decisions: number): Promise<Replay> {
  const shas = new Map<string, string>()
  for (const [sha, text] of traffic.scripts) {
    shas.set(sha, (await redis.script('LOAD', text.replace(FLAG, '--'))) as string)
  }
  const commands = traffic.commands.map(([, sha = '', ...rest]): RedisCommand => {
    const loaded = shas.get(String(sha))
    if (loaded === undefined) throw new Error('A command names a script that was not recorded')
    return ['EVALSHA', loaded, ...rest]
  })
  const half = commands.length / 2
  await redis.flushall()
  await send(redis, commands.slice(0, half))
  await redis.config('RESETSTAT')
  await send(redis, commands.slice(half))
  const stats = await commandStats(redis)
  const sum = (names: readonly string[], of: 'calls' | 'usec'): number =>
    names.reduce((total, name) => total + (stats.get(name)?.[of] ?? 0), 0)
  const billed = [...stats.keys()].filter((name) => name !== 'config|resetstat' && name !== 'info')
  const measured = decisions / 2
  return {
    microseconds: sum(['evalsha'], 'usec') / measured,
    commands: sum(billed, 'calls') / measured,
    writes: sum(['set', 'zadd', 'incrby', 'hset'], 'calls') / measured,
  }
}

async function send(redis: Redis, commands: readonly RedisCommand[]): Promise<void> {
  for (let start = 0; start < commands.length; start += PIPELINE) {
    const pipeline = redis.pipeline()
    for (const [name, ...args] of commands.slice(start, start + PIPELINE)) {
      pipeline.call(String(name), ...args)
    }
    const failed = (await pipeline.exec())?.find(([error]) => error)
    if (failed) throw failed[0] as Error
  }
}

async function commandStats(redis: Redis): Promise<Map<string, { calls: number; usec: number }>> {
  const info = await redis.info('commandstats')
  const rows = info.matchAll(/^cmdstat_(\S+?):calls=(\d+),usec=(\d+)/gm)
  return new Map(
    Array.from(rows, ([, name = '', calls, usec]) => [
      name,
      { calls: Number(calls), usec: Number(usec) },
    ]),
  )
}
