/* The limiter and the queue of a swarm, and what its processes log. */
import { concurrency, createLimiter, dailyCap } from '@sluice/core'
import { redis } from '@sluice/core/redis'
import { limitedQueue } from '@sluice/queue'
import { Redis } from 'ioredis'

export const TENANTS = 20
/** The most jobs that may run at a time, over all processes. */
export const IN_FLIGHT = 12
export const CAP = 10_000_000

/** The lease of a job: the least. */
const LEASE_MS = 5_000

export const tenantOf = (job: number): string => `t${job % TENANTS}`

/** The tokens that a job costs. */
export const costOf = (job: number): number => 1 + (job % 5)

/** The machine's time in milliseconds, the same for all processes: a correction of the time of day does not set it back. */
export const monotonicMs = (): number => Number(process.hrtime.bigint()) / 1e6

/** Opens the queue of one process. */
export function openQueue(url: string, attempts = 1_000) {
  const client = new Redis(url, { maxRetriesPerRequest: 0, retryStrategy: () => 50 })
  client.on('error', () => {})
  const limiter = createLimiter({
    store: redis({ client, prefix: 'swarm' }),
    policies: [
      // The day of the caps does not end while a swarm runs: they count in all what was charged.
      dailyCap({ name: 'daily', limit: CAP, per: ['tenant'], unit: 'token' }),
      concurrency({ name: 'inFlight', limit: IN_FLIGHT, per: 'global' }),
    ],
    onStoreError: 'deny',
  })
  const queue = limitedQueue(limiter, {
    name: 'swarm',
    parse: (data) => data as number,
    lease: `${LEASE_MS}ms`,
    attempts,
    backoff: '1ms',
  })
  return { limiter, queue, close: () => client.disconnect() }
}
