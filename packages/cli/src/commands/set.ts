import { definitionOf, type Limiter } from '@sluice/core'
import {
  checkChanges,
  configure,
  type ConfigurationEntry,
  type SettingChanges,
} from '@sluice/core/configuration'
import type { Command } from '../command.ts'
import { textOf } from '../command.ts'
import { CommandError } from '../errors.ts'
import { limiterFor, LIMITER_OPTIONS, LIMITER_USAGE } from '../limiter-options.ts'
import { SUBJECT_OPTIONS, SUBJECT_USAGE, subjectOf, subjectText } from '../subject.ts'
import { unitsOf } from '../units.ts'
import { timeText, untilOf } from '../until.ts'
import { settingsOf } from './show.ts'

export const set: Command = {
  summary: 'change a limit at run time, for everyone or one tenant',
  usage: `Usage: sluice set POLICY SETTING=VALUE … [--tenant NAME] [--until TIME] [--yes] [options]

Changes settings that runtimeConfiguration allows: limit, burst, mode, enabled, enforced. A value of "null" removes
a setting, so that the limit of the code applies again. Dollars are written with a sign: limit='$20'. Without --yes,
it shows what would change.

${SUBJECT_USAGE}
  --until TIME          the change ends by itself: after 24h or 3d, or at 2026-11-28T18:00Z
  --yes                 make the change
${LIMITER_USAGE}`,
  options: {
    ...SUBJECT_OPTIONS,
    ...LIMITER_OPTIONS,
    until: { type: 'string' },
    yes: { type: 'boolean' },
  },
  takesArguments: true,

  async run(values, [policy, ...given], { folder }) {
    if (policy === undefined || given.length === 0) {
      throw new CommandError('name a policy and a setting, such as: sluice set rpm limit=30')
    }
    const until = textOf(values, 'until')
    const end = until === undefined ? undefined : untilOf(until)
    const { limiter, file } = await limiterFor(values, folder)
    const { rules } = definitionOf(limiter)
    const names = rules.map(({ name }) => name)
    if (!names.includes(policy)) {
      throw new CommandError(`${file} has no policy "${policy}", but ${names.join(', ')}`)
    }
    const subject = partOf(subjectOf(values), rules, policy)
    const settings = Object.fromEntries(given.map(settingOf))
    const changes = { [policy]: { ...settings, ...(end && { until: end }) } as SettingChanges }
    const whom = subject ? ([subject] as const) : ([] as const)
    await checkChanges(limiter, changes, ...whom)
    const before = await entryOf(limiter, policy, subject)
    const isMade = values['yes'] === true
    if (isMade) await configure(limiter, changes, ...whom)
    const lines = Object.entries(settings).map(([name, to]) => {
      const from = { ...before.settings, ...before.temporary?.settings }[name as 'limit']
      const ends = end ? `, until ${timeText(end)}` : ''
      return `${policy} (${subjectText(subject)}): ${name} ${from ?? AS_IN_CODE} -> ${to ?? AS_IN_CODE}${ends}`
    })
    return {
      text: [...lines, isMade ? DONE : DRY].join('\n'),
      json: { policy, subject, before, changes: changes[policy], made: isMade },
    }
  },
}

const AS_IN_CODE = 'as in the code'
const DONE = 'Changed. It applies in every isolate within 5 seconds.'
const DRY = 'Nothing is changed. Add --yes to change it.'

/** Returns the settings of a policy, or of one of its partitions. */
async function entryOf(
  limiter: Limiter,
  policy: string,
  subject: Readonly<Record<string, string>> | undefined,
): Promise<Pick<ConfigurationEntry, 'settings' | 'temporary'>> {
  const entries = await settingsOf(limiter, subject)
  const isOf = (entry: ConfigurationEntry): boolean =>
    entry.policy === policy && (entry.subject === undefined) === (subject === undefined)
  const { settings = {}, temporary } = entries.find(isOf) ?? {}
  return { settings, ...(temporary && { temporary }) }
}

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

function settingOf(text: string): readonly [name: string, value: number | string | null] {
  const [, name, value] = /^([a-z]+)=(.+)$/.exec(text) ?? []
  if (name === undefined || value === undefined) {
    throw new CommandError(`${text} must be SETTING=VALUE, such as limit=30`)
  }
  if (value === 'null') return [name, null]
  return [name, unitsOf(value)]
}
