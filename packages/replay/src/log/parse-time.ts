const MONTHS = 'JanFebMarAprMayJunJulAugSepOctNovDec'
const ISO =
  /^(\d{4})-(\d\d)-(\d\d)[T ](\d\d):(\d\d):(\d\d)(?:[.,](\d{1,12}))?\s?(Z|UTC|[+-]\d\d:?\d\d)?$/
const COMMON = /^(\d\d)\/([A-Z][a-z]{2})\/(\d{4}):(\d\d):(\d\d):(\d\d) ([+-]\d{4})$/
const NUMBER = /^\d{9,19}(?:\.\d+)?$/
const RELATIVE = /^\d{1,8}(?:\.\d+)?$/

/**
 * Reads a time of a log in epoch ms, cut to whole milliseconds: ISO 8601 (UTC unless it has a zone), the
 * form of access logs, or a number of seconds, milliseconds, microseconds or nanoseconds since 1970.
 *
 * @param start The time from which small numbers count seconds, in epoch ms. @default they are no times
 */
export function parseTime(text: string, start?: number): number | undefined {
  const iso = ISO.exec(text)
  if (iso) {
    const [, year, month, day, hour, minute, second, fraction = '', zone = 'Z'] = iso
    const parts = [year, month, day, hour, minute, second].map(Number)
    return timeOf(parts, zone, Number(fraction.slice(0, 3).padEnd(3, '0')))
  }
  const common = COMMON.exec(text)
  if (common) {
    const [, day, name = '', year, hour, minute, second, zone = ''] = common
    const month = MONTHS.indexOf(name) / 3 + 1
    return timeOf([year, month, day, hour, minute, second].map(Number), zone, 0)
  }
  if (start !== undefined && isRelative(text)) return start + Math.floor(Number(text) * 1_000)
  return NUMBER.test(text) ? fromNumber(Number(text)) : undefined
}

/** Returns true for a number of seconds that is too small to be counted from 1970. */
export const isRelative = (text: string): boolean => RELATIVE.test(text)

function timeOf(parts: readonly number[], zone: string, ms: number): number | undefined {
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = parts
  const time = new Date(Date.UTC(year, month - 1, day, hour, minute, second))
  // The 30th of February would be a day in March.
  const isValid =
    time.getUTCMonth() === month - 1 && time.getUTCDate() === day && minute < 60 && second < 60
  return isValid ? time.getTime() + ms - offsetMs(zone) : undefined
}

function offsetMs(zone: string): number {
  const [, sign, hours, minutes] = /^([+-])(\d\d):?(\d\d)$/.exec(zone) ?? []
  return (sign === '-' ? -1 : 1) * (Number(hours ?? 0) * 60 + Number(minutes ?? 0)) * 60_000
}

/** The size of the number gives its unit: seconds of 1973 to 5138 have 9 to 11 digits before the point. */
function fromNumber(value: number): number {
  if (value < 1e11) return Math.floor(value * 1_000)
  if (value < 1e14) return Math.floor(value)
  return Math.floor(value / (value < 1e17 ? 1e3 : 1e6))
}
