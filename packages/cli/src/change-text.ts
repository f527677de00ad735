import { definitionOf, type Limiter, type PolicyRule } from '@sluice/core'
import type { EntryChange, Settings } from '@sluice/core/configuration'
import { valueText } from '@sluice/core/internal/operator'
import { subjectText, timeText } from '@sluice/core/internal/text'

/** Returns a line for each setting that changes make different. */
export function settingLines(limiter: Limiter, changes: readonly EntryChange[]): string[] {
  const { rules } = definitionOf(limiter)
  return changes.flatMap((change) => changeLines(change, rules))
}

function changeLines(
  { policy, subject, from, to }: EntryChange,
  rules: readonly PolicyRule[],
): string[] {
  const unit = rules.find(({ name }) => name === policy)?.unit ?? ''
  const names = new Set([...Object.keys(from ?? {}), ...Object.keys(to ?? {})])
  return [...names].flatMap((name) => {
    const [old, current] = [from?.[name], to?.[name]]
    if (JSON.stringify(old) === JSON.stringify(current)) return []
    const where = `${policy} (${subjectText(subject)}): `
    if (name === 'temporary') return [where + temporaryText(unit, old, current)]
    const texts = [old, current].map((value) => valueText(unit, name, value))
    return [`${where}${name} ${texts.join(' -> ')}${laterText(name, to?.['temporary'])}`]
  })
}

/** A setting is not in force while a change until a time has another. */
function laterText(name: string, temporary: unknown): string {
  const { until, ...settings } = (temporary ?? {}) as Readonly<Record<string, unknown>>
  if (!(name in settings) || typeof until !== 'string') return ''
  return `, from ${timeText(new Date(until))} on: until then a change until a time applies`
}

function temporaryText(unit: string, from: unknown, to: unknown): string {
  const [old, current] = [from, to].map((stored) => passingText(unit, stored))
  if (old === '') return String(current)
  return current === '' ? `${old} is ended` : `${old} -> ${current}`
}

/** Returns the text of settings until a time. Empty if there are none. */
function passingText(unit: string, stored: unknown): string {
  if (typeof stored !== 'object' || stored === null) return ''
  const { until, ...settings } = stored as Settings & { readonly until?: string }
  const texts = Object.entries(settings).map(
    ([name, value]) => `${name} ${valueText(unit, name, value)}`,
  )
  const end =
    until === undefined || Number.isNaN(Date.parse(until))
      ? ''
      : ` until ${timeText(new Date(until))}`
  return texts.join(', ') + end
}
