import { definitionOf } from '@sluice/core'
import { applyConfiguration, compareConfiguration } from '@sluice/core/configuration'
import { AUTHOR_OPTIONS, AUTHOR_USAGE, authorOf } from '../author.ts'
import { changeLines } from '../change-text.ts'
import type { Command } from '../command.ts'
import { desiredIn } from '../desired.ts'
import { limiterFor, LIMITER_OPTIONS, LIMITER_USAGE } from '../limiter-options.ts'
import { assertShared } from '../shared-store.ts'
import { assertVersion, endOf, VERSION_OPTION, VERSION_USAGE } from '../seen-version.ts'

export const apply: Command = {
  summary: 'make the settings in the store those of your file of limits',
  usage: `Usage: sluice apply [--yes] [options]

Makes the settings in the store those of "configuration", which your file of limits exports: a list of
{ policy, subject, settings }. Others are removed; a change until a time stays until its end. Without --yes, it shows
what would change.

${VERSION_USAGE}
${AUTHOR_USAGE}
  --yes                 make the change
${LIMITER_USAGE}`,
  options: {
    ...LIMITER_OPTIONS,
    ...AUTHOR_OPTIONS,
    ...VERSION_OPTION,
    yes: { type: 'boolean' },
  },

  async run(values, _, { folder }) {
    const { limiter, file, exported } = await limiterFor(values, folder)
    const desired = desiredIn(file, exported)
    const seen = await compareConfiguration(limiter, desired)
    assertVersion(values, seen.version)
    const isMade = values['yes'] === true
    if (isMade) await assertShared(limiter)
    // What is shown is what is changed, even if somebody else is at it.
    const options = { ...authorOf(values), version: seen.version }
    const made = isMade ? await applyConfiguration(limiter, desired, options) : undefined
    const changes = made?.changes ?? seen.changes
    const { rules } = definitionOf(limiter)
    const lines = changes.flatMap((change) => changeLines(change, rules))
    return {
      text: [...lines, changes.length === 0 ? SAME : endText(isMade, seen.version)].join('\n'),
      json: { file, version: made?.version ?? seen.version, changes, made: made !== undefined },
    }
  },
}

const SAME = 'The settings in the store are those of the file.'

const endText = (isMade: boolean, version: string): string =>
  isMade
    ? `${endOf('apply', true, version)} To take it back: sluice undo`
    : endOf('apply', false, version)
