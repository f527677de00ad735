import { ConfigError, type Decision, type Limiter } from '@sluice/core'
import { amountText, nameText, unitsText } from '@sluice/core/internal/text'
import { usage } from './usage.ts'

/** Somebody who has used up a limit, as recorded by hour. */
export interface TopUser {
  /** A tenant, or a route and model of the tenant that was asked about. */
  readonly what: string
  readonly requests: number
  readonly tokens: number
  /** Micro-dollars. */
  readonly usd: number
}

/** The most users to name. */
const MOST = 3

/** The longest that hourly rows are read for. */
const MAX_HOURS = 48

const HOUR_MS = 3_600_000

/**
 * Returns who has used up the limit that denies, the largest users first, from the hours that its window lies in, at most
 * the last 48: of a limit for everyone three tenants, else three routes and models of the tenant.
 *
 * @returns `undefined` if the limiter has no `recordUsage`. Empty if the request is allowed.
 * @throws StoreError When the store fails.
 * @example
 * const { decision } = await explain(limiter, { tenant: 'acme' })
 * const users = await topUsers(limiter, decision, 'acme')
 */
export async function topUsers(
  limiter: Limiter,
  { violated, at }: Decision,
  tenant: string | undefined,
): Promise<readonly TopUser[] | undefined> {
  if (!violated) return []
  const isGlobal = violated.scope === 'global'
  const hours = Math.min(MAX_HOURS, Math.ceil((violated.windowMs || Infinity) / HOUR_MS))
  const from = at - hours * HOUR_MS
  const tenants = isGlobal || tenant === undefined ? undefined : [tenant]
  const recorded = await read(limiter, { from, ...(tenants && { tenants }) })
  if (!recorded) return undefined
  const users = new Map<string, { requests: number; tokens: number; usd: number }>()
  for (const row of recorded.rows) {
    if (row.outcome !== 'allowed') continue
    const { tenant: of, route, model } = row
    const what = isGlobal ? of : [route, model].filter((name) => name !== '').join(', ') || of
    const user = users.get(what) ?? { requests: 0, tokens: 0, usd: 0 }
    users.set(what, user)
    user.requests += row.requests
    user.tokens += row.tokens
    user.usd += row.usd
  }
  return Array.from(users, ([what, used]) => ({ what, ...used }))
    .toSorted((a, b) => b.usd - a.usd || b.tokens - a.tokens || b.requests - a.requests)
    .slice(0, MOST)
}

/** Returns `undefined` if the limiter records nothing. */
async function read(limiter: Limiter, options: Parameters<typeof usage>[1]) {
  try {
    return await usage(limiter, options)
  } catch (error) {
    if (error instanceof ConfigError && error.option === 'limiter') return undefined
    throw error
  }
}

/**
 * Returns the users of `topUsers` as text, for operators. Empty if there are none.
 *
 * @example
 * console.log(topUsersText(await topUsers(limiter, decision, 'acme')))
 */
export function topUsersText(users: readonly TopUser[] = []): string {
  if (users.length === 0) return ''
  const lines = users.map(({ what, requests, tokens, usd }) =>
    [
      `  ${nameText(what)}: ${amountText(requests, 'request')}`,
      ...(tokens > 0 ? [amountText(tokens, 'token')] : []),
      ...(usd > 0 ? [unitsText(usd, 'usd')] : []),
    ].join(', '),
  )
  return ['Used in the last hours, as recorded:', ...lines].join('\n')
}
