/* The oracle in one runtime: Node.js, or workerd, which do not have the same version of tz. */
import { periodAt } from '../../../../packages/core/src/calendars/periods.ts'
import { localText } from '../../../../packages/core/src/calendars/zone.ts'
import { compare, type Comparison, type Sample } from './compare.ts'
import { nearestVersion, offsetOf, tableOf, VERSIONS, type Span } from './tables.ts'
import { ZONES } from './zones.ts'

const product = { periodAt, localText }

/** The clocks that a runtime knows. */
export interface Clocks {
  /** The version of tz that the runtime names, if it names one. */
  readonly tz?: string | undefined
  /** The version of the oracle's tables: the same, or else the one that the runtime's clocks differ least from. */
  readonly version: string
  /** The zones in which they differ. Always empty if the runtime names a version that the oracle has. */
  readonly apart: readonly string[]
}

/** Returns the clocks of this runtime. */
export function clocksHere(tz = globalThis.process?.versions?.tz): Clocks {
  if (tz !== undefined && nearestVersion(tz) === tz) return { tz, version: tz, apart: [] }
  const found = VERSIONS.map((version) => ({ tz, version, apart: differingZones(version) }))
  // Of several, the newest.
  return found.toReversed().toSorted((a, b) => a.apart.length - b.apart.length)[0] as Clocks
}

/** Returns the periods of 2006 to 2026 that differ in this runtime. */
export function compareHere(version: string, zones: readonly string[], sample: Sample): Comparison {
  return compare(product, tableOf(version), zones, sample)
}

const [FIRST, LAST] = [Date.UTC(2005, 6), Date.UTC(2029, 0)]
const FORTNIGHT_MS = 14 * 86_400_000

function differingZones(version: string): string[] {
  const table = tableOf(version)
  return ZONES.filter((zone) => {
    const spans = table.get(zone) ?? []
    const name = `${zone} ${JSON.stringify(spans)}`
    const result = known.get(name) ?? differs(zone, spans)
    known.set(name, result)
    return result
  })
}

/** Most zones are the same in all versions. */
const known = new Map<string, boolean>()

/** Tells whether the runtime's clocks in a zone differ from a table: at the changes, or on a day in each fortnight. */
function differs(zone: string, spans: readonly Span[]): boolean {
  const format = new Intl.DateTimeFormat('en', { timeZone: zone, timeZoneName: 'longOffset' })
  const instants = spans.flatMap(({ from }) => [from - 1, from])
  for (let instant = FIRST; instant < LAST; instant += FORTNIGHT_MS) instants.push(instant)
  return instants
    .filter((instant) => instant >= FIRST && instant < LAST)
    .some((instant) => shownOffset(format, instant) !== offsetOf(spans, instant))
}

/** Reads an offset such as `GMT-03:30`. */
function shownOffset(format: Intl.DateTimeFormat, instant: number): number {
  const name = format.formatToParts(instant).find(({ type }) => type === 'timeZoneName')?.value
  const [, sign = '+', hours = 0, minutes = 0] = /GMT(?:([+-])(\d+):(\d+))?/.exec(name ?? '') ?? []
  return (sign === '-' ? -60_000 : 60_000) * (60 * Number(hours) + Number(minutes)) || 0
}
