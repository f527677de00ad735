import type { Redis } from 'ioredis'
import type { Servers } from '../servers/servers.ts'
import type { Sample } from './rounds.ts'

/** The calls under way at the same time. */
export const LANES = 64

/** The cost of one call: microseconds of CPU, and commands. */
interface Taken {
  readonly client: number
  /** Of Redis' main thread. */
  readonly redis: number
  /** Of the client, Redis and the REST server. */
  readonly all: number
  /** Commands, those inside scripts included. */
  readonly commands: number
}

/** Measures the calls per second of parallel lanes, each of which makes one call after the other. */
export class Lanes {
  readonly #servers: Servers
  readonly #call: () => Promise<unknown>
  readonly #calls: number
  readonly #taken: Taken[] = []

  /** @param calls The calls of each lane in a measurement. */
  constructor(servers: Servers, call: () => Promise<unknown>, calls = 200) {
    this.#servers = servers
    this.#call = call
    this.#calls = calls
  }

  readonly sample: Sample = async () => {
    const { redis } = this.#servers
    await redis.config('RESETSTAT')
    const before = await cpuTimes(this.#servers)
    const start = performance.now()
    await Promise.all(Array.from({ length: LANES }, () => this.#lane()))
    const seconds = (performance.now() - start) / 1_000
    const after = await cpuTimes(this.#servers)
    const calls = LANES * this.#calls
    const per = (name: keyof typeof after): number => (after[name] - before[name]) / calls
    this.#taken.push({
      client: per('client'),
      redis: per('redis'),
      all: per('client') + per('redis') + per('rest'),
      commands: (await commandsOf(redis)) / calls,
    })
    return calls / seconds
  }

  /** Returns what a call has taken in the last `rounds` measurements. */
  values(name: keyof Taken, rounds: number): number[] {
    return this.#taken.slice(-rounds).map((taken) => taken[name])
  }

  async #lane(): Promise<void> {
    for (let index = 0; index < this.#calls; index += 1) await this.#call()
  }
}

/** The CPU times of the processes so far, in microseconds. */
async function cpuTimes(servers: Servers) {
  const { user, system } = process.cpuUsage()
  return {
    client: user + system,
    redis: await redisCpu(servers.redis),
    rest: (await servers.restWork()).cpu,
  }
}

/** Returns the CPU time of Redis' main thread so far, in microseconds. */
export async function redisCpu(redis: Redis): Promise<number> {
  const info = await redis.info('cpu')
  const seconds = info.matchAll(/^used_cpu_(?:user|sys)_main_thread:([\d.]+)/gm)
  return Array.from(seconds, ([, text]) => Number(text) * 1_000_000).reduce((a, b) => a + b, 0)
}

async function commandsOf(redis: Redis): Promise<number> {
  const info = await redis.info('commandstats')
  const calls = info.matchAll(/^cmdstat_(?!info|config)\S+?:calls=(\d+)/gm)
  return Array.from(calls, ([, text]) => Number(text)).reduce((a, b) => a + b, 0)
}
