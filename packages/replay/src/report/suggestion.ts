import type { Suggestion } from '../limits/suggest-limits.ts'
import { count } from './format.ts'

/** Returns what a reader must know about suggested limits. */
export function suggestionNotes(suggestion: Suggestion): string[] {
  const { limits, outcome, readings, absent, isSpread } = suggestion
  const unknown = absent.map((tenant) => `except: the log has no call of ${tenant}.`)
  if (limits.length === 0) return [...unknown, 'No limit is needed: every call may be denied.']
  const notes = [
    ...unknown,
    ...(isSpread
      ? [
          'The log has sums, whose calls are spread evenly. Real calls come closer together: a limit of less than a row may have to be larger.',
        ]
      : []),
    `Together, these limits deny ${count(outcome.denied.calls)} of ${count(outcome.used.calls)} calls.`,
    `Each limit suffices for the whole log; where one less was tried, it denies the call that is named. The log was read ${readings} times.`,
  ]
  if (limits.some(({ isSmallest, limit }) => !isSmallest && limit !== undefined)) {
    notes.push(
      'Limits that all tenants share may have a smaller one that suffices: a lower limit keeps out calls of the tenants that may be denied.',
    )
  }
  if (limits.some(({ limit }) => limit === undefined)) {
    notes.push('No limit suffices for a bucket whose burst is too small: raise its burst.')
  }
  const { hurt } = outcome.normal
  if (hurt.length > 0) {
    const names = hurt
      .slice(0, 5)
      .map(({ tenant }) => tenant)
      .join(', ')
    notes.push(
      `Together, they still deny calls of ${count(hurt.length)} tenants that must not be denied: ${names}.`,
    )
  }
  return notes
}
