/* Shows what a change of settings would make different, and makes it. */
import { checkChanges, configureAs } from '../configuration/configure.ts'
import type { ConfigurationEntry } from '../configuration/document.ts'
import type { SettingChanges } from '../configuration/settings.ts'
import { subjectText, timeText, unitsText } from '../internal/text.ts'
import { definitionOf } from '../limiter/runtime.ts'
import { changeAnswer, type Dimensions, type OperatorAnswer, type OperatorTask } from './task.ts'
import { settingsOf } from './look.ts'

type Value = number | string
type Entry = Pick<ConfigurationEntry, 'settings' | 'temporary'>

/** A change of one policy: an end of `null` ends what is temporary now. */
export type PolicyChange = SettingChanges & { readonly until: Date | null }

/** Shows what changes of settings make different, by policy, and makes them in one step. */
export async function changeSettings(
  task: OperatorTask,
  changes: Readonly<Record<string, PolicyChange>>,
  subject: Dimensions | undefined,
): Promise<OperatorAnswer> {
  const { limiter, author = {}, confirm } = task
  const whom = subject ? ([subject] as const) : ([] as const)
  const entries = await settingsOf(limiter, subject)
  const { rules } = definitionOf(limiter)
  const shown = Object.entries(changes).map(([policy, { until, ...settings }]) => {
    const before = entryOf(entries, policy, subject)
    const unit = rules.find(({ name }) => name === policy)?.unit ?? ''
    const ends = until ? `, until ${timeText(until)}` : ''
    const lines = differences(before, settings).map(({ name, from, fromUntil, to }) => {
      const ended = fromUntil === undefined ? '' : ` (until ${timeText(fromUntil)})`
      const texts = [from, to].map((value) => valueText(unit, name, value))
      return `${policy} (${subjectText(subject)}): ${name} ${texts[0]}${ended} -> ${texts[1]}${ends}`
    })
    return { policy, before, changes: { ...settings, until }, lines }
  })
  await checkChanges(limiter, changes, ...whom)
  if (confirm) {
    await confirm()
    await configureAs(author, limiter, changes, ...whom)
  }
  const lines = shown.flatMap((one) => one.lines)
  if (shown.some(({ changes: { zone, anchor } }) => zone !== undefined || anchor !== undefined)) {
    lines.push('A zone or an anchor applies from the end of the period that runs.')
  }
  const parts = shown.map(({ policy, before, changes: own }) => ({ policy, before, changes: own }))
  return changeAnswer(task, lines, { subject, policies: parts })
}

/** The settings that count units. */
export const AMOUNTS: ReadonlySet<string> = new Set(['limit', 'burst'])

/** Returns a value of a setting as a person reads it. */
export function valueText(unit: string, name: string, value: unknown): string {
  if (value === undefined) return 'as in the code'
  if (AMOUNTS.has(name) && typeof value === 'number') return unitsText(value, unit)
  return typeof value === 'string' ? value : JSON.stringify(value)
}

/** Returns a line about the settings of a policy, or of one of its partitions. */
export function settingText(
  { policy, subject, settings, temporary }: ConfigurationEntry,
  unit = '',
): string {
  const ending = temporary
    ? [...textOfAll(temporary.settings, unit), `until ${timeText(temporary.until)}`].join(' ')
    : undefined
  const lasting = textOfAll(settings, unit).join(' ')
  const parts = [ending, lasting].filter((text) => text !== undefined && text !== '')
  return `  ${policy} (${subjectText(subject)}): ${parts.join(', then ')}`
}

const textOfAll = (all: object, unit: string): string[] =>
  Object.entries(all).map(([name, value]) => `${name}=${valueText(unit, name, value)}`)

function entryOf(
  entries: readonly ConfigurationEntry[],
  policy: string,
  subject: Dimensions | undefined,
): Entry {
  const isOf = (entry: ConfigurationEntry): boolean =>
    entry.policy === policy && (entry.subject === undefined) === (subject === undefined)
  const { settings = {}, temporary } = entries.find(isOf) ?? {}
  return { settings, ...(temporary && { temporary }) }
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
