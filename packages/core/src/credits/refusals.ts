/* The steps of a balance that are refused, each with the field at fault and its reason. Nothing is changed. */
import type { InputErrorCode } from '../errors.ts'
import { MAX_UNITS } from '../internal/validation.ts'

/** The codes of these refusals. */
export type Refusal = Extract<
  InputErrorCode,
  `grant_${string}` | `too_many_${string}` | 'balance_too_large'
>

export const REFUSALS: Readonly<Record<Refusal, readonly [field: string, reason: string]>> = {
  grant_expired: ['expiresAt', 'has passed: what was granted would be gone at once'],
  grant_too_old: [
    'id',
    'is of a grant of more than 90 days ago, whose id may be forgotten; use adjust',
  ],
  grant_differs: ['id', 'was used for another amount, lot or kind of change; nothing was changed'],
  grant_unknown: ['id', 'is of no grant of the last 90 days; use adjust'],
  too_many_grants: ['id', 'is one too many: a balance knows 10,000 ids of the last 90 days'],
  too_many_lots: [
    'expiresAt',
    'would begin lot 65: round it, or use fewer priorities, so that grants share a lot',
  ],
  balance_too_large: ['amount', `would take the balance above ${MAX_UNITS} units`],
}

export const isRefusal = (outcome: string): outcome is Refusal => Object.hasOwn(REFUSALS, outcome)
