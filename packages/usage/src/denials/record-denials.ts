import {
  InputError,
  defineExtension,
  durationMs,
  extensionHandle,
  type DeniedDecision,
  type Duration,
  type Extension,
  type ExtensionContext,
  type ExtensionHooks,
  type Limiter,
  type WaitUntil,
} from '@sluice/core'
import { assertFunction, assertKnownOptions, assertPositiveInteger } from '@sluice/core/internal'
import { BackgroundFlush } from '../background-flush.ts'
import { PERIOD_MS } from '../hours.ts'
import { assertTenantForm, type TenantForm } from '../recording/tenant-names.ts'
import { denialOf, type RecordedDenial } from './denial.ts'
import { COUNT, findDenial, findDenials, keyOf, type DenialsPlace } from './stored-denials.ts'
import { PendingDenials, type DenialGroup, type PendingDenial } from './pending.ts'

/** Options of `recordDenials`. */
export interface RecordDenialsOptions {
  /** The form in which tenant ids are stored, as for `recordUsage`. @default 'hashed' */
  readonly tenants?: TenantForm
  /** The dimension of subjects that names the tenant. @default 'tenant' */
  readonly by?: string
  /** The most denials of a tenant that are kept for a day (UTC). @default 200 */
  readonly most?: number
  /** The time between a denial and the flush that saves it. @default '5s' */
  readonly flushEvery?: Duration
  /** Keeps a flush running after the response, as for `recordUsage`. @default that of the call */
  readonly waitUntil?: WaitUntil
}

/** The parts of the extension that its functions work with. An app that reads no denial loads no code for it. */
export interface DenialsHandle extends DenialsPlace {
  flush(): Promise<void>
}

const NAME = 'denials'

const OPTIONS = ['tenants', 'by', 'most', 'flushEvery', 'waitUntil'] as const

/** The time for which a day is kept after its end. */
const KEPT_MS = PERIOD_MS.day

/** The denials that are about to be saved, by their decisions. */
const pendingOf = new WeakMap<DeniedDecision, PendingDenial>()

/**
 * Records denials, so that the id of a 429 leads to its decision until the end of the next day. They are saved in the
 * background, in a call for each tenant that has any; of each tenant up to `most` a day, and 20 between two flushes.
 * The others are counted by `recordUsage` alone: a flood costs nothing. Answer with the id by `denialId`.
 *
 * @throws ConfigError When an option is unknown or out of range.
 * @example
 * const limiter = createLimiter({ store: upstash(), policies, extensions: [recordDenials()] })
 * export const proxy = rateLimit(limiter, { routes, subject, onDenied: denialId() })
 */
export function recordDenials(options: RecordDenialsOptions = {}): Extension {
  assertKnownOptions('recordDenials', options, OPTIONS)
  const { tenants: form = 'hashed', by = 'tenant', waitUntil } = options
  assertTenantForm('recordDenials', form)
  if (waitUntil !== undefined) assertFunction('recordDenials.waitUntil', waitUntil)
  const everyMs = durationMs('recordDenials.flushEvery', options.flushEvery ?? '5s')
  const most = assertPositiveInteger('recordDenials.most', options.most ?? 200, 10_000)

  function connect({ records, problem, clock }: ExtensionContext): ExtensionHooks {
    const pending = new PendingDenials()

    async function flush(): Promise<void> {
      await Promise.all(pending.take().map(save))
    }

    async function save(group: DenialGroup): Promise<void> {
      const key = await keyOf(group.tenant, group.day, form)
      const ttlMs = Math.max(1, group.day + PERIOD_MS.day + KEPT_MS - clock())
      // Others save denials of this tenant at the same time.
      for (let attempt = 0; attempt < 3; attempt += 1) {
        const count = { key, field: COUNT }
        const [text] = await records.read([count])
        const kept = group.denials.slice(0, Math.max(0, most - Number(text ?? 0)))
        if (kept.length < group.denials.length) pending.close(group)
        if (kept.length === 0) return
        const fields = kept.map(({ id, denial }) => [id, JSON.stringify(denial)])
        const total = String(Number(text ?? 0) + kept.length)
        const set = { ...(Object.fromEntries(fields) as Record<string, string>), [COUNT]: total }
        if (await records.write([{ key, set, ttlMs }], { ...count, is: text })) return
      }
    }

    const background = new BackgroundFlush({
      everyMs,
      flush,
      failure: 'Denials could not be recorded',
      problem,
    })

    const handle: DenialsHandle = { flush, records, clock, form }
    return {
      handle,
      on: {
        decision({ decision, subject, call }) {
          if (decision.allowed) return
          const tenant: unknown = (subject as Readonly<Record<string, unknown>>)[by]
          if (typeof tenant !== 'string') return
          const id = crypto.randomUUID()
          const added = pending.add(tenant, id, denialOf(decision, subject, by))
          if (!added) return
          pendingOf.set(decision, added)
          background.schedule(call.waitUntil ?? waitUntil)
        },
      },
    }
  }
  return defineExtension({ name: NAME, connect })
}

function assertText(name: string, what: string, ...values: readonly unknown[]): void {
  if (values.every((value) => typeof value === 'string')) return
  throw new InputError('invalid_subject', name, `needs ${what}`)
}

/** Returns a denial that is about to be saved. */
export const pendingDenial = (decision: DeniedDecision): PendingDenial | undefined =>
  pendingOf.get(decision)

/**
 * Saves the denials of this process now, such as before it ends.
 *
 * @throws ConfigError When the limiter has no `recordDenials`.
 * @throws StoreError When the store fails.
 * @example
 * process.on('SIGTERM', () => void flushDenials(limiter))
 */
export const flushDenials = (limiter: Limiter): Promise<void> => handleOf(limiter).flush()

/**
 * Reads the denial of an id: of the `X-Request-Id` that a 429 carried.
 *
 * @returns `undefined` if none is recorded: it is older than a day, or its tenant has more than are kept.
 * @throws ConfigError When the limiter has no `recordDenials`.
 * @throws StoreError When the store fails.
 * @example
 * const denial = await readDenial(limiter, 'acme', '7c9e6679-7425-40de-944b-e07fc1f90ae7')
 */
export async function readDenial(
  limiter: Limiter,
  tenant: string,
  id: string,
): Promise<RecordedDenial | undefined> {
  assertText('readDenial', 'a tenant and an id, both texts', tenant, id)
  return findDenial(handleOf(limiter), tenant, id)
}

/**
 * Lists the denials of a tenant that are recorded, the latest first. Durable Objects need `usageOperations`.
 *
 * @throws ConfigError When the limiter has no `recordDenials`.
 * @throws StoreError When the store fails.
 * @example
 * const [latest] = await listDenials(limiter, 'acme')
 */
export async function listDenials(limiter: Limiter, tenant: string): Promise<RecordedDenial[]> {
  assertText('listDenials', 'a tenant, a text', tenant)
  return findDenials(handleOf(limiter), tenant)
}

const handleOf = (limiter: Limiter): DenialsHandle =>
  extensionHandle<DenialsHandle>(limiter, NAME, 'recordDenials')
