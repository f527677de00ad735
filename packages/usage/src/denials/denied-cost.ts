import { ConfigError, StoreError, type Limiter } from '@sluice/core'
import { MAX_TEXT, type RecordedDenial } from './denial.ts'
import { listDenials } from './record-denials.ts'

/** The cost of a request that was denied. */
export interface DeniedCost {
  /** The id of the denial. */
  readonly id: string
  /** The time of the denial, in epoch ms. */
  readonly at: number
  /** The units that it asked for, such as `{ request: 1, usd: 120_000 }`; dollars in millionths. */
  readonly cost: Readonly<Record<string, number>>
}

/**
 * Returns the cost of the latest recorded denial of a subject, to ask `explain` about such a request. Dimensions that
 * the subject does not name may have any value.
 *
 * @param by The dimension that names the tenant. @default 'tenant'
 * @returns `undefined` if none is recorded: the limiter has no `recordDenials`, say, or the store does not answer.
 * @example
 * const denied = await latestDeniedCost(limiter, { tenant: 'acme', route: 'chat' })
 */
export async function latestDeniedCost(
  limiter: Limiter,
  subject: Readonly<Record<string, string>>,
  by = 'tenant',
): Promise<DeniedCost | undefined> {
  const { [by]: tenant, plan: _, ...others } = subject
  if (tenant === undefined) return undefined
  const isAlike = ({ subject: denied, policies }: RecordedDenial): boolean =>
    policies.length > 0 &&
    Object.entries(others).every(
      ([name, value]) => (denied[name] ?? value).slice(0, MAX_TEXT) === value.slice(0, MAX_TEXT),
    )
  const denial = (await recordedOf(limiter, tenant)).find(isAlike)
  if (!denial) return undefined
  const { id, at, policies } = denial
  return { id, at, cost: Object.fromEntries(policies.map(({ unit, cost }) => [unit, cost])) }
}

async function recordedOf(limiter: Limiter, tenant: string): Promise<readonly RecordedDenial[]> {
  try {
    return await listDenials(limiter, tenant)
  } catch (error) {
    const isMissing = error instanceof ConfigError && error.option === 'limiter'
    if (isMissing || error instanceof StoreError) return []
    throw error
  }
}
