import { definitionOf } from '@sluice/core'
import { compareUndo, undoConfiguration } from '@sluice/core/configuration'
import { AUTHOR_OPTIONS, AUTHOR_USAGE, authorOf } from '../author.ts'
import { CHANGED, changeLines, UNCHANGED } from '../change-text.ts'
import type { Command } from '../command.ts'
import { limiterFor, LIMITER_OPTIONS, LIMITER_USAGE } from '../limiter-options.ts'

export const undo: Command = {
  summary: 'take the last change of the settings back',
  usage: `Usage: sluice undo [--yes] [options]

Takes back the last change that is not taken back yet, of those that sluice log shows. It refuses if its settings have
been changed since. Without --yes, it shows what would change.

${AUTHOR_USAGE}
  --yes                 make the change
${LIMITER_USAGE}`,
  options: { ...LIMITER_OPTIONS, ...AUTHOR_OPTIONS, yes: { type: 'boolean' } },

  async run(values, _, { folder }) {
    const { limiter } = await limiterFor(values, folder)
    const isMade = values['yes'] === true
    const made = isMade
      ? await undoConfiguration(limiter, authorOf(values))
      : await compareUndo(limiter)
    const changes = made?.changes
    if (!changes)
      return { text: 'There is no change to take back.', json: { changes: [], made: false } }
    const { rules } = definitionOf(limiter)
    const lines = changes.flatMap((change) => changeLines(change, rules))
    return {
      text: [...lines, isMade ? CHANGED : UNCHANGED].join('\n'),
      json: { changes, made: isMade },
    }
  },
}
