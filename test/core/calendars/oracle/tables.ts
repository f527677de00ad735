import tzdata from './tzdata.json' with { type: 'json' }
import { ZONES } from './zones.ts'

const MINUTE_MS = 60_000

/** The time in which a zone has one offset, in epoch ms. */
export interface Span {
  readonly from: number
  readonly to: number
  /** Local time less UTC, in ms. */
  readonly offset: number
}

/** The spans of each zone. */
export type Table = ReadonlyMap<string, readonly Span[]>

/** The versions of tz that the oracle has, the oldest first. */
export const VERSIONS = Object.keys(tzdata.versions).toSorted()

/** Returns the newest version that the oracle has and that is not newer than another one; or its oldest. */
export function nearestVersion(tz: string): string {
  return VERSIONS.findLast((version) => version <= tz) ?? VERSIONS[0] ?? ''
}

/** Returns the zones as a version of tz has them. */
export function tableOf(version: string): Table {
  const zones = tzdata.zones as Record<string, Record<string, string>>
  return new Map(
    ZONES.map((zone) => {
      // A version is listed if it has changed the zone.
      const changed = zones[zone] ?? {}
      const latest = Object.keys(changed)
        .toSorted()
        .findLast((one) => one <= version)
      return [zone, spansOf(changed[latest ?? ''] ?? '')]
    }),
  )
}

function spansOf(text: string): Span[] {
  const [first = '', ...changes] = text.split(' ')
  const parts = [`-Infinity:${first}`, ...changes].map((change) => change.split(':').map(Number))
  return parts.map(([from = NaN, offset = NaN], index) => ({
    from: from * MINUTE_MS,
    to: (parts[index + 1]?.[0] ?? Infinity) * MINUTE_MS,
    offset: offset * MINUTE_MS,
  }))
}

/** Returns the first instant at which clocks show a local time or a later one. */
export function instantOf(spans: readonly Span[], local: number): number {
  const span = spans.find(({ to, offset }) => to + offset > local)
  return span ? Math.max(span.from, local - span.offset) : NaN
}

/** Returns the offset at an instant. */
export function offsetOf(spans: readonly Span[], instant: number): number {
  return spans.find(({ to }) => instant < to)?.offset ?? NaN
}
