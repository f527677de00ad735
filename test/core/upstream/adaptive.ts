/* Isolates with an adaptive limit over one store, in virtual time. */
import { concurrency, createLimiter, slidingWindow, type Store } from '@sluice/core'
import { memory } from '@sluice/core/memory'
import { reserve } from '@sluice/core/reservations'
import { adaptiveLimit } from '@sluice/core/upstream'
import type { Admission } from './stand-in.ts'
import type { VirtualTime } from './virtual-time.ts'
import { NOON } from '../../support/times.ts'

const MIN = 4
const MAX = 200

/** Policies that can follow an upstream. */
const POLICIES = {
  'calls in flight': concurrency({ name: 'calls', limit: MAX, per: 'global' }),
  'calls a second': slidingWindow({ name: 'calls', limit: 2 * MAX, window: '1s', per: 'global' }),
}

export type Counted = keyof typeof POLICIES

export function adaptiveCalls(
  time: VirtualTime,
  isolates: number,
  counted: Counted = 'calls in flight',
  store: Store = memory(),
): Admission {
  const clock = (): number => NOON + Math.floor(time.now)
  const all = Array.from({ length: isolates }, () => {
    const model = adaptiveLimit({ policy: 'calls', min: MIN })
    const policies = [POLICIES[counted]]
    return { model, limiter: createLimiter({ store, clock, policies, extensions: [model] }) }
  })
  return {
    limit: () => Math.max(...all.map(({ model }) => model.limit)),
    async admit(isolate, call) {
      const { model, limiter } = all[isolate]!
      if (counted === 'calls a second') {
        const { allowed } = await limiter.check({ tenant: 'acme' })
        if (allowed) await model.observe(call)
        return
      }
      const reserved = await reserve(limiter, { tenant: 'acme' })
      if (!reserved.allowed) return
      await model.observe(call)
      await reserved.settle(0)
    },
  }
}
