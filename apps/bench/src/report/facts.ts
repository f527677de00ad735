import { cpus, loadavg, totalmem } from 'node:os'
import type { Redis } from 'ioredis'

/** The facts of a machine that its figures depend on. Neither its name nor a path. */
export interface Facts {
  /** The day, such as `2026-11-22`. */
  readonly day: string
  readonly cpu: string
  readonly cores: number
  readonly memoryGb: number
  readonly node: string
  readonly redis: string
}

export async function machineFacts(redis: Redis): Promise<Facts> {
  const version = /^redis_version:(\S+)/m.exec(await redis.info('server'))?.[1]
  if (version === undefined) throw new Error('Redis does not tell its version')
  const [first, ...more] = cpus()
  return {
    day: new Date().toISOString().slice(0, 10),
    cpu: first?.model.trim() || 'unknown CPU',
    cores: more.length + 1,
    memoryGb: Math.round(totalmem() / 2 ** 30),
    node: process.versions.node,
    redis: version,
  }
}

/** Returns the processes that wanted to run in the last minute, on average. */
export const load = (): number => Number((loadavg()[0] ?? Number.NaN).toFixed(1))

export const machineText = ({ cpu, cores, memoryGb, node, redis }: Omit<Facts, 'day'>): string =>
  `${cpu}, ${cores} cores, ${memoryGb} GB; Node ${node}, Redis ${redis}`

export const factsText = (facts: Facts): string => `${machineText(facts)}; ${facts.day}`
