import type { LogFacts } from '../log/facts.ts'
import type { LogReport, Replay } from '../simulation/report-types.ts'
import { MAX_PARTITIONS } from '../simulation/twin.ts'
import { count, counted } from './format.ts'

/**
 * Returns the lines and calls of a log that a report leaves out, as its first line; `undefined` if there are none.
 *
 * @example
 * const first = leftOutText(log.facts)
 */
export function leftOutText({
  malformed,
  ignored,
  unmatched,
  others,
}: LogFacts): string | undefined {
  const parts = [
    [malformed.count, 'malformed line', ''],
    [ignored, 'call', ' with a status to ignore'],
    [unmatched, 'call', ' without a route that matches'],
    [others, 'line', ' without a request of its own'],
  ] as const
  const texts = parts.flatMap(([left, noun, why]) => (left > 0 ? [counted(left, noun) + why] : []))
  return texts.length === 0 ? undefined : `Left out of the log: ${texts.join(', ')}.`
}

/**
 * Returns what a reader must know of how a log was read, such as its first malformed lines.
 *
 * @param countsDollars True if calls without a price matter.
 * @example
 * const notes = readingNotes(result.log, log.facts, true)
 */
export function readingNotes(log: LogReport, facts: LogFacts, countsDollars: boolean): string[] {
  const notes: string[] = []
  const { first } = facts.malformed
  if (first.length > 0) {
    const lines = first.map(({ line, reason }) => `line ${line}: ${reason}`).join('; ')
    notes.push(`Malformed, the first: ${lines}.`)
  }
  if (log.refused > 0) notes.push(`The log has ${counted(log.refused, 'call')} with status 429.`)
  if (countsDollars && log.unpriced > 0) {
    notes.push(`Counted as $0: ${counted(log.unpriced, 'call')} with neither a cost nor a price.`)
  }
  return notes
}

/** Returns the facts about the log that a reader must know, such as lines that were not replayed. */
export function logNotes({ log, sets, absent, unopened }: Replay, facts: LogFacts): string[] {
  const notes = readingNotes(log, facts, log.used.usd > 0)
  if (absent.length > 0) {
    notes.push(`Tenants of --except that are not in the log: ${absent.join(', ')}.`)
  }
  if (unopened.length > 0) {
    notes.push(`Tenants of --balance that are not in the log: ${unopened.join(', ')}.`)
  }
  if (sets.some(({ credits }) => credits.length > 0)) {
    notes.push('Balances are granted nothing after their start but what a plan includes.')
  }
  for (const { name, omitted, partitions } of sets) {
    if (partitions > MAX_PARTITIONS) {
      const most = `The ${count(MAX_PARTITIONS)} used last were counted`
      notes.push(`${name} has ${count(partitions)} partitions. ${most}; more would be denied.`)
    }
    for (const policy of omitted) {
      notes.push(`Policy "${policy.name}" of ${name} is left out: ${policy.reason}.`)
    }
  }
  return notes
}
