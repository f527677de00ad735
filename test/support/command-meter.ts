import type { Redis } from 'ioredis'
import { commandCalls } from './redis.ts'

/** Redis commands, as Upstash bills them: those inside a script, and the EVALSHA around them. */
export interface Metered {
  /** Commands of all kinds. */
  readonly total: number
  /** Calls by command name. */
  readonly calls: ReadonlyMap<string, number>
  /** Commands that may write. */
  readonly writes: number
}

/** Counts commands on a Redis that nobody else uses. */
export class CommandMeter {
  readonly #redis: Redis
  readonly #writes = new Map<string, boolean>()

  constructor(redis: Redis) {
    this.#redis = redis
  }

  async measure(act: () => Promise<unknown>): Promise<Metered> {
    await this.#redis.config('RESETSTAT')
    await act()
    const calls = await commandCalls(this.#redis)
    // Its own doing.
    calls.delete('config|resetstat')
    calls.delete('info')
    let [total, writes] = [0, 0]
    for (const [name, count] of calls) {
      total += count
      if (await this.#mayWrite(name)) writes += count
    }
    return { total, calls, writes }
  }

  async #mayWrite(name: string): Promise<boolean> {
    const known = this.#writes.get(name)
    if (known !== undefined) return known
    const [info] = (await this.#redis.command('INFO', name)) as [[string, number, string[]]]
    const writes = info[2].includes('write')
    this.#writes.set(name, writes)
    return writes
  }
}
