import type { Redis } from 'ioredis'
import { statsOf } from './command-stats.ts'
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
  const commands = await loaded(redis, traffic)
  const half = commands.length / 2
  await redis.flushall()
  await send(redis, commands.slice(0, half))
  const stats = await statsOf(redis, () => send(redis, commands.slice(half)))
  const sum = (names: readonly string[], of: 'calls' | 'usec'): number =>
    names.reduce((total, name) => total + (stats.get(name)?.[of] ?? 0), 0)
  const measured = decisions / 2
  return {
    microseconds: sum(['evalsha'], 'usec') / measured,
    commands: sum([...stats.keys()], 'calls') / measured,
    writes: sum(['set', 'zadd', 'incrby', 'hset'], 'calls') / measured,
  }
}

/** Loads the scripts of some traffic, and returns its commands with the hashes that Redis gave them. */
export async function loaded(redis: Redis, traffic: Traffic): Promise<RedisCommand[]> {
  const shas = new Map<string, string>()
  for (const [sha, text] of traffic.scripts) {
    shas.set(sha, (await redis.script('LOAD', text.replace(FLAG, '--'))) as string)
  }
  return traffic.commands.map(([, sha = '', ...rest]): RedisCommand => {
    const hash = shas.get(String(sha))
    if (hash === undefined) throw new Error('A command names a script that was not recorded')
    return ['EVALSHA', hash, ...rest]
  })
}

/** Sends commands, and returns the microseconds that Redis takes for each. */
export async function microsecondsOf(
  redis: Redis,
  commands: readonly RedisCommand[],
): Promise<number> {
  const stats = await statsOf(redis, () => send(redis, commands))
  return (stats.get('evalsha')?.usec ?? Number.NaN) / commands.length
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
