/* The way back from a change of the settings. */
import type { Limiter } from '../limiter/limiter.ts'
import type { ApplyOptions, ConfigurationDifference } from './apply.ts'
import type { ConfigurationCopy } from './configuration-copy.ts'
import { invalidOption } from '../internal/validation.ts'
import { StoreError } from '../errors.ts'
import { editDocument, readDocument } from './changes.ts'
import { handleOf } from './configure.ts'
import { assertAuthor, changesToUndo, type EntryChange, type HistoryEntry } from './history.ts'
import { assertSettings, type ConfigurablePolicy } from './settings.ts'
import { changesBetween, isSame, putSettings, settingsAt, withoutEnded } from './stored-entries.ts'
import { removeEnded } from './temporary.ts'

/**
 * Takes back the last change that is not taken back yet, in one step. Returns it as it is made; `undefined` if there is
 * none. Changes in records of partitions are not among them.
 *
 * @throws ConfigError When the limiter no longer has the policy, or no longer allows the setting, of before.
 * @throws StoreError `store_conflict` when what it would take back has been changed since, or anything since `version`;
 * or when the store fails.
 * @example
 * await undoConfiguration(limiter, { by: 'ann' })
 */
export async function undoConfiguration(
  limiter: Limiter,
  options: ApplyOptions = {},
): Promise<HistoryEntry | undefined> {
  const { version } = options
  const author = assertAuthor('undoConfiguration', options, ['version'])
  const { cache } = handleOf(limiter)
  let undone = ''
  return editDocument(cache, {
    author,
    version,
    undoes: () => undone,
    edit(entries, history) {
      const last = takeLastBack(entries, history, cache.clock(), possibleIn(cache))
      undone = last?.version ?? ''
      return last?.entries ?? [...entries]
    },
  })
}

/**
 * Tells what `undoConfiguration` would change. Returns `undefined` if there is nothing to take back.
 *
 * @throws StoreError As `undoConfiguration` does.
 * @example
 * const { changes } = (await compareUndo(limiter)) ?? { changes: [] }
 */
export async function compareUndo(limiter: Limiter): Promise<ConfigurationDifference | undefined> {
  const { cache } = handleOf(limiter)
  const { version = '', entries, history } = await readDocument(cache)
  const current = withoutEnded(entries, cache.clock())
  const last = takeLastBack(current, history, cache.clock(), possibleIn(cache))
  return last && { version, changes: changesBetween(current, last.entries) }
}

/** Takes back the newest change that is not taken back, and of which something is left: others ended by themselves. */
export function takeLastBack(
  entries: readonly unknown[],
  history: readonly HistoryEntry[],
  now: number,
  assertEntry: (change: EntryChange) => void,
): { readonly version: string; readonly entries: unknown[] } | undefined {
  for (const { version, changes } of changesToUndo(history)) {
    const left = changes
      .map((change) => withoutEnd(change, now))
      .filter(({ from, to }) => !isSame(from, to))
    if (left.length === 0) continue
    for (const change of left) assertEntry(change)
    return { version, entries: left.reduce(takeBack, [...entries]) }
  }
  return undefined
}

const possibleIn =
  ({ policies }: ConfigurationCopy) =>
  (change: EntryChange): void =>
    assertPossible(change, policies.get(change.policy))

/** Refuses to take back settings that no policy would read. @throws ConfigError */
function assertPossible(
  { policy, subject, from }: EntryChange,
  configurable: ConfigurablePolicy | undefined,
): void {
  if (from === undefined) return
  const option = `undoConfiguration.${policy}`
  if (!configurable) {
    const rule = 'is no policy of this limiter any more: its settings cannot be taken back'
    throw invalidOption(option, rule)
  }
  const { temporary, ...lasting } = from
  const { until: _, ...settings } = (temporary ?? {}) as Readonly<Record<string, unknown>>
  for (const each of [lasting, settings]) {
    assertSettings(option, each, configurable, subject !== undefined)
  }
}

const withoutEnd = ({ policy, subject, from, to }: EntryChange, now: number): EntryChange => ({
  policy,
  subject,
  from: removeEnded(from, now) as EntryChange['from'],
  to: removeEnded(to, now) as EntryChange['to'],
})

function takeBack(
  entries: readonly unknown[],
  { policy, subject, from, to }: EntryChange,
): unknown[] {
  if (isSame(settingsAt(entries, policy, subject), to)) {
    return putSettings(entries, policy, subject, from)
  }
  const message = `The settings of "${policy}" have been changed since: set them by name`
  throw new StoreError('store_conflict', message)
}
