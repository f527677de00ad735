/* The ceiling of an operator of one organisation: it shares out what its organisation may use, and cannot raise that. */
import { definitionOf } from '@sluice/core'
import { readApiKey } from '@sluice/core/api-keys'
import { readConfiguration } from '@sluice/core/configuration'
import { taskOf, type AdminCall } from './call.ts'
import { AdminRefusal, nothingHere } from './refusal.ts'

type Dimensions = Readonly<Record<string, string>>

/** The reasons for which an operator of one organisation is refused. */
export const ADMIN_ONLY = {
  newKey:
    'Plans and roles belong to ADMIN_KEY. Leave them out: a new key has the plan of your own key.',
  plan: 'Plans belong to ADMIN_KEY.',
  limits:
    'The limits of an organisation as a whole belong to ADMIN_KEY. Name a team, user or key of it, and policies that count by it.',
  start: 'Only ADMIN_KEY starts an organisation again. Name a team, user or key to start that.',
  stop: 'ADMIN_KEY has set a limit of the organisation until a time. Leave "until" out, and only ADMIN_KEY starts it again.',
} as const

export const adminOnly = (reason: string): AdminRefusal =>
  new AdminRefusal(403, 'admin_only', reason)

export const isLimited = ({ operator }: AdminCall): boolean => operator.tenant !== undefined

/** The dimensions of a part of an organisation. */
const PARTS = ['team', 'user', 'key']

const isOfPart = (dimensions: readonly string[]): boolean =>
  dimensions.includes('tenant') && PARTS.some((part) => dimensions.includes(part))

/**
 * Refuses a change of what bounds an organisation as a whole: of a subject without a part, or of policies that do not
 * count by one. A key has to be one that the operator may manage.
 *
 * @throws AdminRefusal
 */
export async function assertBelowCeiling(
  call: AdminCall,
  subject: Dimensions,
  policies: readonly string[] = [],
  reason: string = ADMIN_ONLY.limits,
): Promise<void> {
  if (!isLimited(call)) return
  const { rules } = definitionOf(call.limiter)
  const named = rules.filter(({ name }) => policies.includes(name))
  const isBelow =
    isOfPart(Object.keys(subject)) && named.every(({ per }) => per !== 'global' && isOfPart(per))
  if (!isBelow) throw adminOnly(reason)
  if (subject['key'] === undefined) return
  const key = await readApiKey(call.limiter, subject['key'])
  if (!key || !taskOf(call).mayManage?.(key)) throw nothingHere()
}

const YEAR_MS = 365 * 86_400_000

/**
 * Returns the end of a stop. It replaces limits that are set until a time: at an earlier end than theirs, more would be
 * allowed than before.
 *
 * @throws AdminRefusal
 */
export async function endOfStop(
  call: AdminCall,
  subject: Dimensions,
  until: string | undefined,
): Promise<string | undefined> {
  if (!isLimited(call)) return until
  if (Object.keys(subject).length > 1) {
    await assertBelowCeiling(call, subject)
    return until
  }
  const entries = await readConfiguration(call.limiter, subject)
  const ends = entries.flatMap(({ subject: part, temporary }) =>
    part && temporary ? [temporary.until] : [],
  )
  if (ends.length === 0) return until
  if (until !== undefined) throw adminOnly(ADMIN_ONLY.stop)
  return new Date(Math.max(Date.now() + YEAR_MS, ...ends)).toISOString()
}

/**
 * Returns the plan of a new key: that of the operator's own key, read anew, as its plan may just have been changed.
 *
 * @throws AdminRefusal When another plan, or a role, is named.
 */
export async function planOfNewKey(
  call: AdminCall,
  { plan, role }: Dimensions,
): Promise<string | undefined> {
  if (!isLimited(call)) return plan
  const own = (await readApiKey(call.limiter, call.operator.id))?.subject['plan']
  if (role !== undefined || (plan ?? own) !== own) throw adminOnly(ADMIN_ONLY.newKey)
  return own
}
