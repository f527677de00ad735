import { definitionOf } from '@sluice/core'
import { applyConfiguration, compareConfiguration } from '@sluice/core/configuration'
import { AUTHOR_OPTIONS, AUTHOR_USAGE, authorOf } from '../author.ts'
import { CHANGED, changeLines } from '../change-text.ts'
import type { Command } from '../command.ts'
import { textOf } from '../command.ts'
import { desiredIn } from '../desired.ts'
import { CommandError } from '../errors.ts'
import { limiterFor, LIMITER_OPTIONS, LIMITER_USAGE } from '../limiter-options.ts'

export const apply: Command = {
  summary: 'make the settings in the store those of your file of limits',
  usage: `Usage: sluice apply [--yes] [options]

Makes the settings in the store those of "configuration", which your file of limits exports: a list of
{ policy, subject, settings }. Others are removed; a change until a time stays until its end. Without --yes, it shows
what would change.

  --if-version VERSION  only if nobody has changed the settings since: "none" if there were none
${AUTHOR_USAGE}
  --yes                 make the change
${LIMITER_USAGE}`,
  options: {
    ...LIMITER_OPTIONS,
    ...AUTHOR_OPTIONS,
    'if-version': { type: 'string' },
    yes: { type: 'boolean' },
  },

  async run(values, _, { folder }) {
    const { limiter, file, exported } = await limiterFor(values, folder)
    const desired = desiredIn(file, exported)
    const seen = await compareConfiguration(limiter, desired)
    const given = textOf(values, 'if-version')
    const version = given === NONE ? '' : given
    if (version !== undefined && version !== seen.version) throw new CommandError(OTHERS_CHANGED)
    const isMade = values['yes'] === true
    // What is shown is what is changed, even if somebody else is at it.
    const options = { ...authorOf(values), version: seen.version }
    const made = isMade ? await applyConfiguration(limiter, desired, options) : undefined
    const changes = made?.changes ?? seen.changes
    const { rules } = definitionOf(limiter)
    const lines = changes.flatMap((change) => changeLines(change, rules))
    return {
      text: [...lines, endOf(changes.length, isMade, seen.version)].join('\n'),
      json: { file, version: made?.version ?? seen.version, changes, made: made !== undefined },
    }
  },
}

const NONE = 'none'
const OTHERS_CHANGED =
  'somebody has changed the settings since that version. Look again: sluice apply, and sluice log'

function endOf(changes: number, isMade: boolean, version: string): string {
  if (changes === 0) return 'The settings in the store are those of the file.'
  if (isMade) return `${CHANGED} To take it back: sluice undo`
  return `Nothing is changed. To change it: sluice apply --yes --if-version ${version || NONE}`
}
