/** Formats micro-dollars, all of them: $1.50, $0.004213. */
export const dollarsOf = (micro: number): string =>
  (micro / 1_000_000).toLocaleString('en-US', {
    style: 'currency',
    currency: 'USD',
    maximumFractionDigits: 6,
  })

/** Formats a number with separators: 12,345. */
export const countOf = (units: number): string => units.toLocaleString('en-US')

export const amountOf = (unit: string, units: number): string =>
  unit === 'usd' ? dollarsOf(units) : countOf(units)

/** Formats a length of time: 48 s, 12 min, 3 h, 2 days. */
export function durationOf(ms: number): string {
  const seconds = Math.ceil(ms / 1_000)
  if (seconds < 120) return `${seconds} s`
  const minutes = Math.ceil(seconds / 60)
  if (minutes < 120) return `${minutes} min`
  const hours = Math.ceil(minutes / 60)
  return hours < 48 ? `${hours} h` : `${Math.ceil(hours / 24)} days`
}

const UNITS: Readonly<Record<string, string>> = {
  request: 'Requests',
  token: 'Tokens',
  usd: 'Dollars',
  call: 'Calls at once',
}

export const unitOf = (unit: string): string => UNITS[unit] ?? unit

/** The name of one of a kind, and of a row that has none. */
export const TITLES: Readonly<Record<string, readonly [title: string, none: string]>> = {
  tenant: ['Organisation', '(none)'],
  team: ['Team', '(no team)'],
  user: ['User', '(no user)'],
  key: ['Key', '(no key)'],
  model: ['Model', '(no model)'],
  plan: ['Plan', '(no plan)'],
  day: ['Day', ''],
  hour: ['Hour', ''],
}
