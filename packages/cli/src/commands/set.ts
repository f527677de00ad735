import { definitionOf } from '@sluice/core'
import { configure, type ConfigurationEntry, type SettingChanges } from '@sluice/core/configuration'
import type { Command } from '../command.ts'
import { CommandError } from '../errors.ts'
import { limiterFor, LIMITER_OPTIONS, LIMITER_USAGE } from '../limiter-options.ts'
import { SUBJECT_OPTIONS, SUBJECT_USAGE, subjectOf, subjectText } from '../subject.ts'
import { unitsOf } from '../units.ts'
import { settingsOf } from './show.ts'

export const set: Command = {
  summary: 'change a limit at run time, for everyone or one tenant',
  usage: `Usage: sluice set POLICY SETTING=VALUE … [--tenant NAME] [--yes] [options]

Changes settings that runtimeConfiguration allows: limit, burst, mode, enabled, enforced. A value of "null" removes
a setting, so that the limit of the code applies again. Dollars are written with a sign: limit='$20'. Without --yes,
it shows what would change.

${SUBJECT_USAGE}
  --yes                 make the change
${LIMITER_USAGE}`,
  options: { ...SUBJECT_OPTIONS, ...LIMITER_OPTIONS, yes: { type: 'boolean' } },

  async run(values, [policy, ...given], folder) {
    if (policy === undefined || given.length === 0) {
      throw new CommandError('name a policy and a setting, such as: sluice set rpm limit=30')
    }
    const { limiter, file } = await limiterFor(values, folder)
    const names = definitionOf(limiter).rules.map(({ name }) => name)
    if (!names.includes(policy)) {
      throw new CommandError(`${file} has no policy "${policy}", but ${names.join(', ')}`)
    }
    const subject = partOf(subjectOf(values), definitionOf(limiter).rules, policy)
    const changes = Object.fromEntries(given.map(settingOf)) as SettingChanges
    const find = async (): Promise<ConfigurationEntry['settings']> =>
      (await settingsOf(limiter, subject)).find(
        (entry) =>
          entry.policy === policy && (entry.subject === undefined) === (subject === undefined),
      )?.settings ?? {}
    const before = await find()
    const isMade = values['yes'] === true
    if (isMade) await configure(limiter, { [policy]: changes }, ...(subject ? [subject] : []))
    const after = isMade ? await find() : { ...before, ...changes }
    const lines = Object.keys(changes).map((name) => {
      const [from, to] = [before, after].map(
        (one) => (one as Record<string, string | number | null>)[name] ?? 'as in the code',
      )
      return `${policy} (${subjectText(subject)}): ${name} ${String(from)} -> ${String(to)}`
    })
    return {
      text: [...lines, isMade ? DONE : DRY].join('\n'),
      json: { policy, subject, before, after, made: isMade },
    }
  },
}

const DONE = 'Changed. It applies in every isolate within 5 seconds.'
const DRY = 'Nothing is changed. Add --yes to change it.'

/** Returns what a policy counts by, of a subject: `configure` refuses other dimensions. */
function partOf(
  subject: Readonly<Record<string, string>> | undefined,
  rules: ReturnType<typeof definitionOf>['rules'],
  policy: string,
): Readonly<Record<string, string>> | undefined {
  if (!subject) return undefined
  const per = rules.find(({ name }) => name === policy)?.per ?? 'global'
  if (per === 'global') {
    throw new CommandError(
      `"${policy}" is one limit for everyone: leave out ${subjectText(subject)}`,
    )
  }
  const missing = per.filter((name) => subject[name] === undefined)
  if (missing.length === 0)
    return Object.fromEntries(per.map((name) => [name, subject[name] ?? '']))
  throw new CommandError(`"${policy}" counts by ${per.join(' and ')}: add --${missing[0]} NAME`)
}

function settingOf(text: string): readonly [name: string, value: unknown] {
  const [, name, value] = /^([a-z]+)=(.+)$/.exec(text) ?? []
  if (name === undefined || value === undefined) {
    throw new CommandError(`${text} must be SETTING=VALUE, such as limit=30`)
  }
  if (value === 'null') return [name, null]
  return [name, unitsOf(value)]
}
