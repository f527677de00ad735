import type { LogFacts } from '../log/facts.ts'
import type { LogReport, Replay } from '../simulation/report-types.ts'
import { MAX_PARTITIONS } from '../simulation/twin.ts'
import { count, counted } from './format.ts'

/**
 * Returns what a reader must know of how a log was read, such as lines that were left out.
 *
 * @param countsDollars True if calls without a price matter.
 * @example
 * const notes = readingNotes(result.log, log.facts, true)
 */
export function readingNotes(log: LogReport, facts: LogFacts, countsDollars: boolean): string[] {
  const { malformed, late, ignored, unmatched, others } = facts
  const notes: string[] = []
  if (malformed.count > 0) {
    const first = malformed.first.map(({ line, reason }) => `line ${line}: ${reason}`).join('; ')
    notes.push(`Left out: ${counted(malformed.count, 'malformed line')}. First: ${first}.`)
  }
  if (late.count > 0) {
    const lines = late.firstLines.join(', ')
    const where = `Lines ${lines}${late.count > late.firstLines.length ? ', …' : ''}.`
    notes.push(
      `Left out: ${counted(late.count, 'call')} that came too late to be put in order. ${where}`,
    )
  }
  if (ignored > 0) notes.push(`Left out: ${counted(ignored, 'call')} because of their status.`)
  if (unmatched > 0)
    notes.push(`Left out: ${counted(unmatched, 'call')} without a route that matches.`)
  if (others > 0) notes.push(`Left out: ${counted(others, 'line')} that are no request.`)
  if (log.refused > 0) notes.push(`The log has ${counted(log.refused, 'call')} with status 429.`)
  if (countsDollars && log.unpriced > 0) {
    notes.push(`Counted as $0: ${counted(log.unpriced, 'call')} with neither a cost nor a price.`)
  }
  return notes
}

/** Returns the facts about the log that a reader must know, such as lines that were not replayed. */
export function logNotes({ log, sets, absent }: Replay, facts: LogFacts): string[] {
  const notes = readingNotes(log, facts, log.used.usd > 0)
  if (absent.length > 0) {
    notes.push(`Tenants of --except that are not in the log: ${absent.join(', ')}.`)
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
