/* Shows what a change of settings would make different, and makes it. */
import { definitionOf, type Limiter } from '@sluice/core'
import {
  checkChanges,
  configureAs,
  type ConfigurationEntry,
  type SettingChanges,
} from '@sluice/core/configuration'
import { subjectText, timeText } from '@sluice/core/internal/text'
import { authorOf } from './author.ts'
import { CHANGED, unchanged, valueText } from './change-text.ts'
import type { Result, Values } from './command.ts'
import { settingsOf } from './settings.ts'
import { assertShared } from './shared-store.ts'

type Value = number | string
type Entry = Pick<ConfigurationEntry, 'settings' | 'temporary'>

/** A change of one policy: an end of `null` ends what is temporary now. */
export type PolicyChange = SettingChanges & { readonly until: Date | null }

/**
 * Shows what changes of settings make different, by policy. With `--yes`, makes them in one step.
 *
 * @throws CommandError When the store is the memory of this process.
 */
export async function changeSettings(
  values: Values,
  limiter: Limiter,
  changes: Readonly<Record<string, PolicyChange>>,
  subject: Readonly<Record<string, string>> | undefined,
): Promise<Result> {
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
  const isMade = values['yes'] === true
  if (isMade) await assertShared(limiter)
  if (isMade) await configureAs(authorOf(values), limiter, changes, ...whom)
  const lines = shown.flatMap((one) => one.lines)
  const parts = shown.map(({ policy, before, changes: own }) => ({ policy, before, changes: own }))
  return {
    text: [...lines, isMade ? CHANGED : unchanged()].join('\n'),
    json: { subject, policies: parts, made: isMade },
  }
}

function entryOf(
  entries: readonly ConfigurationEntry[],
  policy: string,
  subject: Readonly<Record<string, string>> | undefined,
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
