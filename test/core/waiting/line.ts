import { createLimiter, manualClock, type Policy, type Store } from '@sluice/core'
import { lineOperations } from '@sluice/core/waiting'
import { NOON } from '../../support/times.ts'

type Request = Parameters<Store['check']>[0]
type Line = Request['entries'][number]
type Operation = Parameters<Store['run']>[0]

/** The place of a ticket, as the operation `line.stand` tells it. */
export interface Standing {
  readonly is: 'waiting' | 'too_long' | 'full'
  readonly dueMs?: number
}

const [STAND, LEAVE] = lineOperations

/** Somebody who asks: with a ticket of 0 without one. */
export interface Asker {
  readonly user: string
  readonly cost: number
  readonly ticket: number
}

/** Calls of a store about one limit with a line, as `waitFor` makes them, by a clock that is set by hand. */
export function lineOver(store: Store, policy: Policy) {
  const clock = manualClock(NOON)
  let seen: Request | undefined
  const seeing: Store = {
    ...(store.accept && { accept: (policies) => store.accept?.(policies) }),
    async check(request) {
      seen = request
      return { source: 'store', now: request.now, verdicts: [], values: [] }
    },
    run: (operation) => store.run(operation),
    reset: (keys) => store.reset(keys),
  }
  const limiter = createLimiter({ store: seeing, policies: [policy], clock })

  /** Returns the request of somebody, with the ticket. */
  async function requestOf({ user, cost, ticket }: Asker): Promise<Request> {
    await limiter.check({ tenant: 'acme', user }, { cost: { request: cost } })
    const { entries, ...request } = seen as Request
    return {
      ...request,
      now: clock(),
      startedAt: Date.now(),
      entries: entries.map((entry) => (isLine(entry) ? withTicket(entry, ticket) : entry)),
    }
  }

  return {
    clock,
    /** Decides. Returns whether each policy lets it in, and after how long each would. */
    async check(asker: Asker) {
      const { verdicts } = await store.check(await requestOf(asker))
      return verdicts.map(({ fits, retryMs, resetMs, charged }) => ({
        fits,
        retryMs,
        resetMs,
        charged,
      }))
    },
    async stand(asker: Asker, longestMs = 300_000): Promise<Standing> {
      const { entries, now, clockIsInjected, startedAt } = await requestOf(asker)
      const line = entries.find(isLine) as Line
      const [limit] = entries as [Line]
      const { windowMs } = limit.policy
      const data = { line, limit, now, clockIsInjected, longestMs, windowMs }
      const keys = [line.key, limit.key]
      return store.run({ kind: STAND, keys, data, startedAt } as Operation) as Promise<Standing>
    },
    async leave(asker: Asker): Promise<void> {
      const { entries, now, clockIsInjected, startedAt } = await requestOf(asker)
      const { key } = entries.find(isLine) as Line
      const data = { ticket: asker.ticket, now, clockIsInjected }
      await store.run({ kind: LEAVE, keys: [key], data, startedAt } as Operation)
    },
  }
}

const isLine = ({ policy }: Line): boolean => policy.name.endsWith('.line')

const withTicket = (entry: Line, ticket: number): Line => Object.assign({}, entry, { ticket })
