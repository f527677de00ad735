/* The part of an account that a plan includes. */
import { nextEnd } from './calendar-window.ts'
import type { CreditJournal } from './credit-journal.ts'
import {
  INCLUDED,
  MONTH_MS,
  type CreditParams,
  type CreditTerms,
  type Sums,
} from './credit-state.ts'

/**
 * Begins the period of the allowance that `now` is in, or adds what a new plan includes. Returns false if the end of that
 * period is not known.
 */
export function renewAllowance(
  sums: Sums,
  journal: CreditJournal,
  terms: Required<CreditTerms>,
  now: number,
): boolean {
  const { limit, params } = terms
  const [, period, rollover] = params as CreditParams
  if (now < sums.finish) {
    const more = Math.max(0, limit - sums.allowance)
    sums.included += more
    sums.granted += more
    sums.allowance += more
    journal.log('included', more, `${INCLUDED}:${sums.finish}`)
    return true
  }
  const end = nextEnd(sums.finish || undefined, { ...terms, params: [period] }, now)
  if (end === undefined) return false
  const left = sums.included
  const average = period === 0 ? MONTH_MS : period
  const skipped = sums.finish > 0 ? Math.round((end - sums.finish) / average) - 1 : 0
  const kept = Math.min(rollover, left + Math.max(0, skipped) * sums.allowance)
  const expired = Math.max(0, left - kept)
  sums.expired += expired
  journal.log('expired', -expired, `${INCLUDED}:${sums.finish}`)
  const granted = limit + kept - left + expired
  sums.granted += granted
  sums.finish = end
  sums.allowance = limit
  sums.included = limit + kept
  journal.log('included', granted, `${INCLUDED}:${end}`)
  return true
}

/** Ends the last period of an allowance that the policy no longer has. */
export function endAllowance(sums: Sums, journal: CreditJournal, now: number): void {
  if (sums.included === 0 || now < sums.finish) return
  const expired = sums.included
  sums.included = 0
  sums.expired += expired
  journal.log('expired', -expired, `${INCLUDED}:${sums.finish}`)
}
