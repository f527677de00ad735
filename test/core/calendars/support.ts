import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { dailyCap, type Policy, type Store } from '@sluice/core'
import { calendar, calendarAlgorithm, type CalendarOptions } from '@sluice/core/calendars'
import { file } from '@sluice/core/file'
import { memory } from '@sluice/core/memory'
import { afterAll } from 'vitest'
import { objectsInProcess, storeIn } from '../../support/objects.ts'
import { sharedRedis } from '../../support/running-redis.ts'

/** Makes stores that count alone: one in memory, in Redis, in a folder and in objects, by name. */
export function storesOfAll(): Record<string, () => Store> {
  const redis = sharedRedis()
  const folder = mkdtempSync(join(tmpdir(), 'sluice-calendars-'))
  let made = 0
  afterAll(() => rmSync(folder, { recursive: true, force: true }))
  return {
    memory: () => memory(),
    redis: () => redis.store(),
    'a file': () => file(join(folder, String((made += 1)))),
    objects: () => storeIn(objectsInProcess({ algorithms: [calendarAlgorithm] }).namespace),
  }
}

/** A store that decides by its own clock, whatever time its callers have: as Redis does, and at a time that a test sets. */
export function withClock(store: Store, clock: () => number): Store {
  return {
    ...store,
    accept: store.accept?.bind(store),
    placeOf: store.placeOf?.bind(store),
    check: (request) => store.check({ ...request, now: clock(), clockIsInjected: true }),
    run(operation) {
      const data = { ...(operation.data as object), now: clock(), clockIsInjected: true }
      return store.run({ ...operation, data })
    },
    reset: (keys) => store.reset(keys),
  }
}

/** The ends of a period that a process computes. */
interface Ends {
  readonly since: number
  readonly finish: number
  readonly following: number
}

/** A policy with a calendar, in a process that computes other ends: one with other tables of time zones. */
export function otherwise(policy: Policy, change: (ends: Ends) => Partial<Ends>): Policy {
  const rules = policy().map((rule) => {
    const { numbers } = rule
    if (!numbers) throw new Error('it has no calendar')
    const of: typeof numbers.of = (...asked) => {
      const entry = numbers.of(...asked)
      return { ...entry, ...change(entry as unknown as Ends) }
    }
    return Object.freeze({ ...rule, numbers: { names: numbers.names, of } })
  })
  return (() => rules) as Policy
}

/** The policy `daily` of a tenant, by this calendar. */
export const dailyBy = (limit: number, options: CalendarOptions) =>
  dailyCap({ name: 'daily', limit, per: ['tenant'], resets: calendar(options) })
