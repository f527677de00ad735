import { compareUndo, undoConfiguration } from '@sluice/core/configuration'
import { AUTHOR_USAGE } from '../author.ts'
import { settingLines } from '../change-text.ts'
import type { Command } from '../command.ts'
import { assertVersion, changeSeen, endOf, VERSION_USAGE } from '../seen-version.ts'
import { limiterFor, LIMITER_USAGE } from '../limiter-options.ts'

export const undo: Command = {
  summary: 'take the last change of the settings back',
  usage: `Usage: sluice undo [--yes] [options]

Takes back the last change that is not taken back yet, of those that sluice log shows. It refuses if its settings have
been changed since. Without --yes, it shows what would change.

${VERSION_USAGE}
${AUTHOR_USAGE}
${LIMITER_USAGE}`,

  async run(values, _, { folder }) {
    const { limiter } = await limiterFor(values, folder)
    const seen = await compareUndo(limiter)
    if (!seen) {
      assertVersion(values)
      return { text: 'There is no change to take back.', json: { changes: [], made: false } }
    }
    const result = await changeSeen(values, limiter, seen, (options) =>
      undoConfiguration(limiter, options),
    )
    const end = endOf('undo', result.made, seen.version)
    return { text: [...settingLines(limiter, result.changes), end].join('\n'), json: result }
  },
}
