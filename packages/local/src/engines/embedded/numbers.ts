import { Fault, NOT_A_FLOAT, NOT_AN_INTEGER } from './value.ts'

const MIN_INT64 = -(2n ** 63n)
const MAX_INT64 = 2n ** 63n - 1n

/** Reads a signed 64-bit integer as strictly as Redis: no spaces, plus sign or leading zeros. */
export function parseBigInteger(text: string, message: string = NOT_AN_INTEGER): bigint {
  if (!/^(?:0|-?[1-9]\d{0,18})$/.test(text)) throw new Fault(message)
  const value = BigInt(text)
  if (value < MIN_INT64 || value > MAX_INT64) throw new Fault(message)
  return value
}

/** Reads a count or a time, for which a double is exact enough. See `parseBigInteger`. */
export const parseInteger = (text: string, message: string = NOT_AN_INTEGER): number =>
  Number(parseBigInteger(text, message))

/** Adds two integers. @throws Fault if the sum does not fit 64 bits. */
export function addIntegers(left: bigint, right: bigint): bigint {
  const sum = left + right
  if (sum < MIN_INT64 || sum > MAX_INT64) {
    throw new Fault('ERR increment or decrement would overflow')
  }
  return sum
}

/** Returns an integer reply: a number where that is exact. */
export function integer(value: bigint): number | bigint {
  const number = Number(value)
  return Number.isSafeInteger(number) ? number : value
}

/** Reads a score as `strtod` does, without its hexadecimal forms. */
export function parseFloatStrictly(text: string, message: string = NOT_A_FLOAT): number {
  if (/^[+-]?inf(?:inity)?$/i.test(text)) return text.startsWith('-') ? -Infinity : Infinity
  if (!/^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i.test(text)) throw new Fault(message)
  return Number(text)
}

/** Formats a double as C's `%.17g` does. Redis 7.0 prints scores so. */
export function formatDouble(value: number): string {
  if (!Number.isFinite(value)) return Number.isNaN(value) ? 'nan' : value > 0 ? 'inf' : '-inf'
  if (Object.is(value, -0)) return '-0'
  if (Number.isSafeInteger(value)) return String(value)
  const [mantissa = '', exponentText = '0'] = value.toExponential(16).split('e')
  const exponent = Number(exponentText)
  if (exponent >= -4 && exponent < 17) return trimZeros(value.toFixed(16 - exponent))
  const digits = String(Math.abs(exponent)).padStart(2, '0')
  return `${trimZeros(mantissa)}e${exponent < 0 ? '-' : '+'}${digits}`
}

/** Casts a double to a 64-bit integer as C does. Redis makes integer replies of Lua numbers so. */
export function truncate(value: number): number | bigint {
  const whole = Math.trunc(value)
  if (Number.isSafeInteger(whole)) return whole + 0
  const fits = whole >= -(2 ** 63) && whole < 2 ** 63
  return fits ? BigInt(whole) : MIN_INT64
}

const trimZeros = (text: string): string => (text.includes('.') ? text.replace(/\.?0+$/, '') : text)
