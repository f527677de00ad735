import { subjectText, timeText } from '@sluice/core/internal/text'
import { definitionOf, type Limiter, type PolicyRule } from '@sluice/core'
import {
  checkChanges,
  configureAs,
  type ConfigurationEntry,
  type SettingChanges,
} from '@sluice/core/configuration'
import { AUTHOR_OPTIONS, AUTHOR_USAGE, authorOf } from '../author.ts'
import { AMOUNTS, CHANGED, unchanged, valueText } from '../change-text.ts'
import type { Command } from '../command.ts'
import { textOf } from '../command.ts'
import { CommandError } from '../errors.ts'
import { limiterFor, LIMITER_OPTIONS, LIMITER_USAGE } from '../limiter-options.ts'
import { assertShared } from '../shared-store.ts'
import { SUBJECT_OPTIONS, SUBJECT_USAGE, subjectOf } from '../subject.ts'
import { amountOf } from '../units.ts'
import { untilOf } from '../until.ts'
import { dimensionOption, pair } from '../wording.ts'
import { settingsOf } from './show.ts'

export const set: Command = {
  summary: 'change a limit at run time, for everyone or one tenant',
  usage: `Usage: sluice set POLICY SETTING=VALUE … [--tenant NAME] [--until TIME] [--yes] [options]

Changes settings that runtimeConfiguration allows: limit, burst, mode, enabled, enforced. A value of "null" removes
a setting, so that the limit of the code applies again. Dollars are written with a sign: limit='$20'. A change until a
time ends now: until=null, or any change without --until. Without --yes, it shows what would change.

${SUBJECT_USAGE}
  --until TIME          the change ends by itself: after 24h or 3d, or at 2026-11-28T18:00Z
${AUTHOR_USAGE}
  --yes                 make the change
${LIMITER_USAGE}`,
  options: {
    ...SUBJECT_OPTIONS,
    ...LIMITER_OPTIONS,
    ...AUTHOR_OPTIONS,
    until: { type: 'string' },
    yes: { type: 'boolean' },
  },
  takesArguments: true,

  async run(values, [policy, ...given], { folder }) {
    if (policy === undefined || given.length === 0) {
      throw new CommandError(`name a policy and a setting, such as rpm and ${pair('limit', '30')}`)
    }
    const until = textOf(values, 'until')
    const end = until === undefined ? undefined : untilOf(until)
    const { limiter, file } = await limiterFor(values, folder)
    const { rules } = definitionOf(limiter)
    const rule = rules.find(({ name }) => name === policy)
    if (!rule) {
      const names = rules.map(({ name }) => name).join(', ')
      throw new CommandError(`${file} has no policy "${policy}", but ${names}`)
    }
    const subject = partOf(subjectOf(values), rule)
    const whom = subject ? ([subject] as const) : ([] as const)
    const settings = settingsIn(given, rule)
    const before = await entryOf(limiter, policy, subject)
    // What is set for good applies now: a temporary change would hide it until its end.
    const change = { ...settings, until: end ?? null } as SettingChanges
    await checkChanges(limiter, { [policy]: change }, ...whom)
    const isMade = values['yes'] === true
    if (isMade) await assertShared(limiter)
    if (isMade) await configureAs(authorOf(values), limiter, { [policy]: change }, ...whom)
    const ends = end ? `, until ${timeText(end)}` : ''
    const lines = differences(before, settings).map(({ name, from, fromUntil, to }) => {
      const ended = fromUntil === undefined ? '' : ` (until ${timeText(fromUntil)})`
      const texts = [from, to].map((value) => valueText(rule.unit, name, value))
      return `${policy} (${subjectText(subject)}): ${name} ${texts[0]}${ended} -> ${texts[1]}${ends}`
    })
    return {
      text: [...lines, isMade ? CHANGED : unchanged()].join('\n'),
      json: { policy, subject, before, changes: change, made: isMade },
    }
  },
}

type Value = number | string
type Entry = Pick<ConfigurationEntry, 'settings' | 'temporary'>

/** Returns the settings of a policy, or of one of its partitions. */
async function entryOf(
  limiter: Limiter,
  policy: string,
  subject: Readonly<Record<string, string>> | undefined,
): Promise<Entry> {
  const entries = await settingsOf(limiter, subject)
  const isOf = (entry: ConfigurationEntry): boolean =>
    entry.policy === policy && (entry.subject === undefined) === (subject === undefined)
  const { settings = {}, temporary } = entries.find(isOf) ?? {}
  return { settings, ...(temporary && { temporary }) }
}

/** Returns the subject if it is what a policy counts by, and no more. */
function partOf(
  subject: Readonly<Record<string, string>> | undefined,
  { name, per }: PolicyRule,
): Readonly<Record<string, string>> | undefined {
  if (!subject) return undefined
  if (per === 'global') {
    throw new CommandError(`"${name}" is one limit for everyone: leave out ${subjectText(subject)}`)
  }
  const missing = per.find((dimension) => subject[dimension] === undefined)
  const countsBy = `"${name}" counts by ${per.join(' and ')}`
  if (missing !== undefined)
    throw new CommandError(`${countsBy}: add ${dimensionOption(missing, 'NAME')}`)
  const others = Object.entries(subject).filter(([dimension]) => !per.includes(dimension))
  if (others.length === 0) return subject
  throw new CommandError(`${countsBy}: leave out ${subjectText(Object.fromEntries(others))}`)
}

function settingsIn(
  texts: readonly string[],
  rule: PolicyRule,
): Readonly<Record<string, Value | null>> {
  const settings: Record<string, Value | null> = {}
  for (const text of texts) {
    const [, name, value] = /^([a-z]+)=(.+)$/.exec(text) ?? []
    if (name === undefined || value === undefined) {
      throw new CommandError(
        `${text} must be a setting and its value, such as ${pair('limit', '30')}`,
      )
    }
    if (Object.hasOwn(settings, name)) throw new CommandError(`${name} is given twice`)
    settings[name] = value === 'null' ? null : valueOf(rule, name, value)
  }
  return settings
}

function valueOf(rule: PolicyRule, name: string, text: string): Value {
  if (AMOUNTS.has(name)) return amountOf(text, rule, name)
  return /^\d+$/.test(text) ? Number(text) : text
}

interface Difference {
  readonly name: string
  readonly from: Value | undefined
  /** The end of what applies now. */
  readonly fromUntil: number | undefined
  readonly to: Value | undefined
}

/** Returns the settings that a change names, and those that it changes too: it ends a temporary change as a whole. */
function differences(
  { settings: lasting, temporary }: Entry,
  named: Readonly<Record<string, Value | null>>,
): Difference[] {
  const before: Readonly<Record<string, Value>> = { ...lasting, ...temporary?.settings }
  const after: Readonly<Record<string, Value | null>> = { ...lasting, ...named }
  const names = new Set([...Object.keys(named), ...Object.keys(before)])
  names.delete('until')
  return [...names]
    .map((name) => ({
      name,
      from: before[name],
      fromUntil: temporary && name in temporary.settings ? temporary.until : undefined,
      to: after[name] ?? undefined,
    }))
    .filter(({ name, from, to }) => name in named || from !== to)
}
