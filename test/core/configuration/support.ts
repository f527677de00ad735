import {
  createLimiter,
  fixedWindow,
  manualClock,
  slidingWindow,
  tokenBucket,
  type Limiter,
  type LimiterOptions,
  type ManualClock,
  type Problem,
  type Store,
} from '@sluice/core'
import {
  partitionRecords,
  runtimeConfiguration,
  type RuntimeConfigurationOptions,
} from '@sluice/core/configuration'
import { ACME, collectProblems } from '../../support/limiters.ts'
import { NOON } from '../../support/times.ts'

/** The time for which an isolate uses loaded settings without a read. */
export const FRESH_MS = 5_000

export const policies = [
  fixedWindow({ name: 'rpm', limit: 10, window: '1h', per: ['tenant'] }),
  slidingWindow({
    name: 'byUser',
    limit: 20,
    window: '1h',
    per: ['tenant', 'user'],
    onMissing: 'skip',
  }),
  tokenBucket({ name: 'bucket', limit: 30, window: '1m', burst: 40, per: ['tenant'] }),
  fixedWindow({ name: 'all', limit: 1_000, window: '1h', per: 'global' }),
  fixedWindow({ name: 'later', limit: 'configured', window: '1h', per: ['tenant'] }),
]

export const ALLOW: RuntimeConfigurationOptions['allow'] = {
  rpm: ['limit', 'mode', 'enabled', 'enforced'],
  byUser: ['limit'],
  bucket: ['limit', 'burst'],
  all: ['limit', 'mode', 'enabled'],
  later: ['limit'],
}

export interface App {
  readonly clock: ManualClock
  readonly problems: Problem[]
  readonly isolate: (options?: Partial<LimiterOptions>) => Limiter
}

/** An app over a store; each of its isolates has a limiter of its own. */
export function app(store: Store): App {
  const clock = manualClock(NOON)
  const { problems, listener } = collectProblems()
  const isolate = (options: Partial<LimiterOptions> = {}): Limiter =>
    createLimiter({
      store,
      clock,
      policies,
      ...options,
      extensions: [...(options.extensions ?? [runtimeConfiguration({ allow: ALLOW })]), listener],
    })
  return { clock, problems, isolate }
}

/** An app whose isolates keep the settings of each partition in a record. */
export function recordsApp(store: Store): App {
  const { isolate, ...rest } = app(store)
  const extensions = [runtimeConfiguration({ allow: ALLOW, partitions: partitionRecords() })]
  return { ...rest, isolate: (options) => isolate({ extensions, ...options }) }
}

/** The limit of one policy for a subject, now. */
export async function limitOf(
  limiter: Limiter,
  policy: string,
  subject: object = ACME,
): Promise<number | string | undefined> {
  const { policies: states, skipped } = await limiter.peek(subject)
  const state = states.find(({ name }) => name === policy)
  return state?.limit ?? skipped.find(({ name }) => name === policy)?.why
}
