import type { UpstashOptions } from '@sluice/core/upstash'
import type { Redis } from 'ioredis'
import { currentJourney } from './journey.ts'
import { roll } from './random.ts'

/** The share of the requests to Redis that fail: half of them each way. */
const FAULTS = 0.02
/** With it, a call loses the reply to its reservation and then its first settlement. */
const SEED = 2

/** Redis never gets the command, or executes it and the reply is lost. */
export type Fault = 'request lost' | 'reply lost'

type Fetch = NonNullable<UpstashOptions['fetch']>

/** Requests to a Redis that can be taken away, and that fails by itself while calls are made. */
export class FaultyRedis {
  isDown = false
  readonly #redis: Redis

  constructor(redis: Redis) {
    this.#redis = redis
  }

  readonly fetch: Fetch = async (url, init) => {
    if (this.isDown) throw new TypeError('Redis is down')
    const journey = currentJourney()
    if (journey === undefined) return fetch(url, init)
    const { requests, call } = journey
    const at = requests.length
    const chance = roll('fault', SEED, call.index, at)
    const fault = chance < FAULTS / 2 ? 'request lost' : chance < FAULTS ? 'reply lost' : undefined
    requests.push({ fault })
    if (fault === 'request lost') throw new TypeError('The request is lost')
    const response = await fetch(url, init)
    if (fault === undefined) return response
    await response.text()
    requests[at] = { fault, isHeld: (await this.#redis.exists(lastKey(init.body))) === 1 }
    throw new TypeError('The reply is lost')
  }
}

/** The last key of a script: for a reservation its mark, which exists if the store has let it in. */
function lastKey(body: string): string {
  const [, , count, ...rest] = JSON.parse(body) as string[]
  return rest[Number(count) - 1] ?? ''
}
