import {
  createLimiter,
  dailyCap,
  slidingWindow,
  type Decision,
  type Limiter,
  type Policy,
} from '@sluice/core'
import { batched } from '@sluice/core/batched'
import { upstash, type UpstashOptions } from '@sluice/core/upstash'
import { afterEach, beforeEach, vi } from 'vitest'
import type { ownRedisOverHttp } from '../../../support/running-redis.ts'
import { freshPrefix } from '../../../support/stores.ts'

export type Fetch = NonNullable<UpstashOptions['fetch']>

export const rpm = slidingWindow({ name: 'rpm', limit: 20, window: '1h', per: ['tenant'] })
export const both = [dailyCap({ name: 'daily', limit: 1_000, per: ['tenant'] }), rpm]

/** A busy machine may take longer between two checks than a call waits for: time stands still. */
export function stopDates(): void {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['Date'] })
  })
  afterEach(() => {
    vi.useRealTimers()
  })
}

/** A `fetch` that records the bodies that it sends. */
export function recordingFetch(answer: Fetch = fetch): { bodies: string[]; send: Fetch } {
  const bodies: string[] = []
  const send: Fetch = (target, init) => {
    bodies.push(init.body)
    return answer(target, init)
  }
  return { bodies, send }
}

/** A limiter whose script is loaded, and the bodies of the requests that it sends from now on. */
export async function setUp(
  { local }: ReturnType<typeof ownRedisOverHttp>,
  {
    policies = [rpm],
    timeoutMs = 30_000,
    answer = fetch,
  }: { policies?: readonly Policy[]; timeoutMs?: number; answer?: Fetch } = {},
): Promise<{ limiter: Limiter; bodies: string[]; prefix: string }> {
  const { bodies, send } = recordingFetch(answer)
  const prefix = freshPrefix()
  const make = (patience: number): Limiter => {
    const { url, token } = local
    const store = batched(upstash({ url, token, prefix, timeoutMs: patience, fetch: send }))
    return createLimiter({ store, policies })
  }
  const warm = { tenant: 'warm' }
  const patient = make(30_000)
  await Promise.all([patient.peek(warm), patient.peek(warm)])
  await patient.peek(warm)
  bodies.length = 0
  return { limiter: make(timeoutMs), bodies, prefix }
}

/** Checks of tenants in turn that all begin at once. */
export const checks = (limiter: Limiter, times: number, tenants = 2): Promise<Decision[]> =>
  Promise.all(
    Array.from({ length: times }, (_, index) => limiter.check({ tenant: `t${index % tenants}` })),
  )

export const causes = (decisions: readonly Decision[]): unknown[] =>
  decisions.map(({ degraded }) => degraded?.cause)

export const none = (times: number): undefined[] => Array.from({ length: times }, () => undefined)
