import { applyConfiguration, compareConfiguration } from '@sluice/core/configuration'
import { AUTHOR_USAGE } from '../author.ts'
import { settingLines } from '../change-text.ts'
import type { Command } from '../command.ts'
import { desiredIn } from '../desired.ts'
import { limiterFor, LIMITER_USAGE } from '../limiter-options.ts'
import { changeSeen, endOf, VERSION_USAGE } from '../seen-version.ts'

export const apply: Command = {
  summary: 'make the settings in the store those of your file of limits',
  usage: `Usage: sluice apply [--yes] [options]

Makes the settings in the store those of "configuration", which your file of limits exports: a list of
{ policy, subject, settings }. Others are removed; a change until a time stays until its end. Without --yes, it shows
what would change.

${VERSION_USAGE}
${AUTHOR_USAGE}
${LIMITER_USAGE}`,

  async run(values, _, { folder }) {
    const { limiter, file, exported } = await limiterFor(values, folder)
    const desired = desiredIn(file, exported)
    const seen = await compareConfiguration(limiter, desired)
    const result = await changeSeen(values, limiter, seen, (options) =>
      applyConfiguration(limiter, desired, options),
    )
    const { changes, made } = result
    const changed =
      endOf('apply', made, seen.version) + (made ? ' To take it back: sluice undo' : '')
    const end = changes.length === 0 ? 'The settings in the store are those of the file.' : changed
    return { text: [...settingLines(limiter, changes), end].join('\n'), json: { file, ...result } }
  },
}
