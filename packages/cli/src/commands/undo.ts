import { definitionOf } from '@sluice/core'
import { compareUndo, undoConfiguration } from '@sluice/core/configuration'
import { AUTHOR_OPTIONS, AUTHOR_USAGE, authorOf } from '../author.ts'
import { changeLines } from '../change-text.ts'
import type { Command } from '../command.ts'
import { assertVersion, endOf, VERSION_OPTION, VERSION_USAGE } from '../seen-version.ts'
import { limiterFor, LIMITER_OPTIONS, LIMITER_USAGE } from '../limiter-options.ts'
import { assertShared } from '../shared-store.ts'

export const undo: Command = {
  summary: 'take the last change of the settings back',
  usage: `Usage: sluice undo [--yes] [options]

Takes back the last change that is not taken back yet, of those that sluice log shows. It refuses if its settings have
been changed since. Without --yes, it shows what would change.

${VERSION_USAGE}
${AUTHOR_USAGE}
  --yes                 make the change
${LIMITER_USAGE}`,
  options: { ...LIMITER_OPTIONS, ...AUTHOR_OPTIONS, ...VERSION_OPTION, yes: { type: 'boolean' } },

  async run(values, _, { folder }) {
    const { limiter } = await limiterFor(values, folder)
    const seen = await compareUndo(limiter)
    assertVersion(values, seen?.version)
    if (!seen)
      return { text: 'There is no change to take back.', json: { changes: [], made: false } }
    const isMade = values['yes'] === true
    if (isMade) await assertShared(limiter)
    // What is shown is what is changed, even if somebody else is at it.
    const options = { ...authorOf(values), version: seen.version }
    const made = isMade ? await undoConfiguration(limiter, options) : undefined
    const changes = made?.changes ?? seen.changes
    const { rules } = definitionOf(limiter)
    const lines = changes.flatMap((change) => changeLines(change, rules))
    return {
      text: [...lines, endOf('undo', isMade, seen.version)].join('\n'),
      json: { version: made?.version ?? seen.version, changes, made: isMade },
    }
  },
}
