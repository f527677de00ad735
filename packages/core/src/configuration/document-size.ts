/* The bounds of the document: each isolate loads all of it. */
import { ConfigError } from '../errors.ts'

const MAX_PARTITIONS = 1_000
const MAX_CHARACTERS = 500_000

/** The share of a bound from which on operators are warned. */
const ALMOST = 0.8

type StoredEntry = { readonly subject?: unknown; readonly settings?: unknown } | null | undefined

/** Returns true if an entry stops a partition, and has no other settings. */
function isStop(entry: unknown): boolean {
  const { subject, settings } = (entry ?? {}) as NonNullable<StoredEntry>
  const { temporary, ...lasting } = (settings ?? {}) as { readonly temporary?: object }
  const { until: _, ...passing } = (temporary ?? {}) as { readonly until?: unknown }
  const all = [lasting, passing].filter((part) => Object.keys(part).length > 0)
  return subject !== undefined && all.every((part) => JSON.stringify(part) === '{"limit":0}')
}

const shareOfText = (entries: readonly unknown[]): number =>
  JSON.stringify(entries).length / MAX_CHARACTERS

/**
 * Returns how full the document is: 1 is its bound. Partitions that are stopped have as much text again, for thousands of
 * them, so that a tenant can be stopped when all other room is taken.
 */
function fullness(entries: readonly unknown[]): number {
  const others = entries.filter((entry) => !isStop(entry))
  const partitions = others.filter((entry) => (entry as StoredEntry)?.subject).length
  return Math.max(
    partitions / MAX_PARTITIONS,
    shareOfText(others),
    shareOfText(entries.filter(isStop)),
  )
}

/** Returns the text of a document. @throws ConfigError When it would be too large. */
export function documentText(entries: readonly unknown[]): string {
  if (fullness(entries) <= 1) return JSON.stringify(entries)
  const most = `${MAX_PARTITIONS} partitions and ${MAX_CHARACTERS} characters, and as many characters for limits of 0`
  throw new ConfigError('configuration_full', 'configure', `must not set more than ${most}`)
}

/** The size of the configuration in the store. */
export interface ConfigurationSize {
  /** The share of the most that it can hold: 1 is full. */
  readonly share: number
  /** True from 80 % on. */
  readonly isAlmostFull: boolean
}

/** Returns the size of a document. */
export function documentSize(entries: readonly unknown[]): ConfigurationSize {
  const share = fullness(entries)
  return { share, isAlmostFull: share >= ALMOST }
}
