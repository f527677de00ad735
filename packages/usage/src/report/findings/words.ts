import { UNKNOWN, OTHER } from '../../rows.ts'

const number = new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 })
const money = new Intl.NumberFormat('en-US', { style: 'currency', currency: 'USD' })
const day = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'long', timeZone: 'UTC' })
const time = new Intl.DateTimeFormat('en-GB', {
  hour: '2-digit',
  minute: '2-digit',
  timeZone: 'UTC',
})

/** An amount in its unit: `'1,200 tokens'`, `'$5.00'`. */
export function amount(units: number, unit: string): string {
  if (unit === 'usd') return money.format(units / 1_000_000)
  return `${number.format(units)} ${unit.replaceAll('_', ' ')}${units === 1 ? '' : 's'}`
}

/** A share as a percentage: `'95 %'`. */
export const percent = (share: number): string => `${Math.round(share * 100)} %`

/** A factor: `'12 times'`. */
export const times = (factor: number): string => `${number.format(factor)} times`

/** A day: `'22 November'`. */
export const dayName = (at: number): string => day.format(at)

/** A day and a time: `'22 November, 14:00'`. */
export const timeName = (at: number): string => `${day.format(at)}, ${time.format(at)}`

/** A day and a time, of a calendar: `'2026-11-22 14:00'`. */
export const localName = (startsAt: string): string => startsAt.slice(0, 16).replace('T', ' ')

/** A subject of a sentence. */
export const tenantName = (tenant: string): string => (tenant === '' ? 'Everyone together' : tenant)

/** Returns true for a tenant of whom something can be said: not a rest, nor requests without one. */
export const isOneTenant = (tenant: string): boolean => ![OTHER, UNKNOWN, ''].includes(tenant)
