import { nameText, timeText } from '@sluice/core/internal/text'
import { readHistory, type PastChange } from '@sluice/core/configuration'
import { settingLines } from '../change-text.ts'
import { countOf, type Command } from '../command.ts'
import { limiterFor, LIMITER_USAGE } from '../limiter-options.ts'

export const log: Command = {
  summary: 'who has changed which setting, when and why',
  usage: `Usage: sluice log [--top N] [options]

Lists the changes of the settings in the store, the newest first: the last hundred. Changes in records of partitions are
not among them.

  --top N               the most changes (default: 20)
${LIMITER_USAGE}`,

  async run(values, _, { folder }) {
    const top = countOf(values, 'top', 20)
    const { limiter } = await limiterFor(values, folder)
    const history = await readHistory(limiter)
    const shown = history.slice(0, top)
    const lines = shown.flatMap((change) => [
      headOf(change),
      ...settingLines(limiter, change.changes).map((line) => `  ${line}`),
    ])
    return {
      text: lines.join('\n') || 'Nothing has been changed.',
      json: { changes: shown },
    }
  },
}

/** Returns the line that says when a change was made, who made it, and why. */
export function headOf({
  at,
  by = 'somebody',
  note,
  undoes,
  undoneBy,
}: Omit<PastChange, 'changes'>): string {
  const facts = [
    ...(note === undefined ? [] : [note]),
    ...(undoes === undefined ? [] : ['takes a change back']),
    ...(undoneBy === undefined ? [] : ['taken back']),
  ]
  const why = facts.length === 0 ? '' : `: ${facts.join('; ')}`
  return nameText(`${timeText(at)} ${by}${why}`)
}
