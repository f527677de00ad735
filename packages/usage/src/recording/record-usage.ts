import {
  defineExtension,
  durationMs,
  extensionHandle,
  type Duration,
  type Extension,
  type ExtensionContext,
  type ExtensionHooks,
  type Limiter,
  type WaitUntil,
} from '@sluice/core'
import {
  assertFunction,
  assertKnownOptions,
  assertPositiveInteger,
  invalidOption,
} from '@sluice/core/internal'
import { CounterFlush } from '../counters/counter-flush.ts'
import { dayOf, PERIOD_MS, periodKey } from '../hours.ts'
import type { StoredPeriod } from '../rows.ts'
import { Cells } from './cells.ts'
import { Recorder } from './recorder.ts'
import { assertTenantForm, type TenantForm } from './tenant-names.ts'

/** Options of `recordUsage`. */
export interface RecordUsageOptions {
  /**
   * The form in which tenant ids are stored: `'plain'` as they are; `'hashed'` as a part of their SHA-256, which
   * hides them from the eye but not from someone who guesses ids; `{ secret }` as a part of their HMAC, which
   * only the secret's owner can compute. A function for the secret is called at each flush.
   *
   * @default 'hashed'
   */
  readonly tenants?: TenantForm
  /** The dimension of subjects that names the tenant. @default 'tenant' */
  readonly by?: string
  /**
   * Further dimensions of subjects that each row has, such as `['team', 'key']`. Their values are stored as they are,
   * and there is a cell for each. @default none
   */
  readonly dimensions?: readonly string[]
  /** The time between a request and the flush that saves it. @default '5s' */
  readonly flushEvery?: Duration
  /**
   * Keeps a flush running after the response, where a call has no `waitUntil` of its own: that of
   * `@sluice/core/vercel` or `@sluice/cloudflare/wait-until`. @default that of the call
   */
  readonly waitUntil?: WaitUntil
  /** The most cells for an hour, and for a day. Above that, the small ones share `'(other)'`. @default 10_000 */
  readonly maxCells?: number
  /** The time for which hours are kept after their end. @default '8d' */
  readonly keepHours?: Duration
  /** The time for which days are kept after their end. @default '100d' */
  readonly keepDays?: Duration
}

/** The parts of the extension that `flushUsage`, `forgetUsage` and `usage` work with. */
export interface UsageHandle extends Pick<ExtensionContext, 'records' | 'clock'> {
  readonly tenants: TenantForm
  readonly dimensions: readonly string[]
  /** The times for which hours and days are kept after their end. */
  readonly keptMs: Readonly<Record<StoredPeriod, number>>
  flush(): Promise<void>
}

const NAME = 'usage'

const OPTIONS = [
  'tenants',
  'by',
  'dimensions',
  'flushEvery',
  'waitUntil',
  'maxCells',
  'keepHours',
  'keepDays',
] as const

/**
 * Counts who used what: requests, tokens and dollars by tenant, route, model, plan and outcome, for each hour and
 * day, and for each policy. Counts are kept in memory and saved in the background, every 5 seconds, in one call
 * to the limiter's store. An isolate that dies loses what it has counted since its last flush.
 *
 * @throws ConfigError When an option is unknown or out of range.
 * @example
 * const limiter = createLimiter({ store: upstash(), policies, extensions: [recordUsage()] })
 */
export function recordUsage(options: RecordUsageOptions = {}): Extension {
  assertKnownOptions('recordUsage', options, OPTIONS)
  const { tenants = 'hashed', by = 'tenant', dimensions = [], waitUntil } = options
  assertTenantForm('recordUsage', tenants)
  assertDimensions(dimensions)
  if (waitUntil !== undefined) assertFunction('recordUsage.waitUntil', waitUntil)
  const everyMs = durationMs('recordUsage.flushEvery', options.flushEvery ?? '5s')
  const maxCounters = assertPositiveInteger('recordUsage.maxCells', options.maxCells ?? 10_000)
  const keptMs = {
    hour: durationMs('recordUsage.keepHours', options.keepHours ?? '8d'),
    day: durationMs('recordUsage.keepDays', options.keepDays ?? '100d'),
  }

  const hashesOf = (hour: number) => [
    { key: periodKey('day', dayOf(hour)), expiresAt: dayOf(hour) + PERIOD_MS.day + keptMs.day },
    { key: periodKey('hour', hour), expiresAt: hour + PERIOD_MS.hour + keptMs.hour },
  ]

  function connect({ policies, records, clock, problem }: ExtensionContext): ExtensionHooks {
    const cells = new Cells(policies.some(({ unit }) => unit === 'usd'))
    const recorder = new Recorder(cells, { by, dimensions }, policies)
    const take = () => cells.take(hashesOf, tenants)
    const onOverflow = (): void => {
      cells.isStoreFull = true
    }
    const counts = { key: NAME, maxCounters, everyMs, take, onOverflow }
    const flush = new CounterFlush({ title: 'Usage', records, clock, problem, ...counts })
    const handle: UsageHandle = {
      records,
      clock,
      tenants,
      dimensions,
      keptMs,
      flush: () => flush.flush(),
    }
    return {
      on: {
        decision({ decision, subject, call }) {
          recorder.decide(decision, subject)
          flush.schedule(call.waitUntil ?? waitUntil)
          if (cells.areMany) flush.flushSoon(call.waitUntil ?? waitUntil)
        },
        settled(event) {
          recorder.settle(event, clock())
          flush.schedule(waitUntil)
        },
      },
      handle,
    }
  }
  return defineExtension({ name: NAME, connect })
}

/** The names that a row has anyway. */
const OWN_NAMES: ReadonlySet<unknown> = new Set(
  'tenant route model plan outcome requests tokens usd'.split(' '),
)

/** @throws ConfigError Unless it is a list of different names that a row does not have anyway. */
function assertDimensions(names: readonly unknown[]): void {
  const isNew = (name: unknown, at: number): boolean =>
    /^\w+$/.test(String(name)) && names.indexOf(name) === at && !OWN_NAMES.has(name)
  if (Array.isArray(names) && names.every(isNew)) return
  const message =
    'must be a list of other dimensions than tenant, route, model and plan, such as ["team"]'
  throw invalidOption('recordUsage.dimensions', message, names)
}

/**
 * Saves what this process has counted so far, such as before it ends.
 *
 * @throws ConfigError When the limiter has no `recordUsage`.
 * @throws StoreError When the store fails. The counts are kept, and saved with the next flush.
 * @example
 * process.on('SIGTERM', () => void flushUsage(limiter))
 */
export async function flushUsage(limiter: Limiter): Promise<void> {
  await usageHandle(limiter).flush()
}

/** Returns the handle of a limiter's `recordUsage`. @throws ConfigError When it has none. */
export const usageHandle = (limiter: Limiter): UsageHandle =>
  extensionHandle<UsageHandle>(limiter, NAME, 'recordUsage')
