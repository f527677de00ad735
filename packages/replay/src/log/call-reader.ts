import type { Call } from '../call.ts'
import type { RouteMatcher } from '@sluice/core/http'
import type { ColumnMap } from './columns.ts'
import type { Fault, Row } from './row.ts'
import { isUnits, MUST_BE_UNITS } from '@sluice/core/internal'
import { isRelative, parseTime } from './parse-time.ts'

/** Values for calls whose line does not state them. */
export interface CallDefaults {
  readonly plan: string | undefined
  readonly model: string | undefined
  /** Finds the id of a route by the method and path of the log. */
  readonly matchRoute: RouteMatcher | undefined
  /** The time from which the log counts seconds, in epoch ms. */
  readonly start: number | undefined
  /** Names the tenant of each call, instead of the log. */
  readonly tenant: (() => string) | undefined
}

/** The fault of a row, on its way out of the functions that read its values. */
class RowFault extends Error {}

/** Creates a function that reads the call of a row. A fault says why the row has none. */
export function createCallReader(
  columns: ColumnMap,
  defaults: CallDefaults,
): (row: Row) => Call | Fault {
  return (row) => {
    try {
      return readCall(row, columns, defaults)
    } catch (error) {
      if (error instanceof RowFault) return { line: row.line, reason: error.message }
      throw error
    }
  }
}

function readCall({ line, values }: Row, columns: ColumnMap, defaults: CallDefaults): Call {
  const { fields, durationMs } = columns
  const text = (column: string | undefined): string =>
    column === undefined ? '' : textOf(values[column])
  const { time = '', tenant: tenantColumn = '' } = fields
  const at = parseTime(text(time), defaults.start)
  if (at === undefined) {
    const remedy = isRelative(text(time)) ? '; if it counts seconds, set "start"' : ''
    throw new RowFault(`"${time}" is not a time${remedy}`)
  }
  const tenant = defaults.tenant?.() ?? text(tenantColumn)
  if (tenant === '') throw new RowFault(`"${tenantColumn}" is empty`)
  const subject: Call['subject'] & Record<string, string> = { tenant }
  const name = (dimension: string, value: string | undefined): void => {
    if (value) subject[dimension] = value
  }
  name('user', text(fields['user']))
  name('route', routeOf(text(fields['method']), text(fields['route']), defaults))
  name('model', text(fields['model']) || defaults.model)
  name('plan', text(fields['plan']) || defaults.plan)
  for (const [dimension, column] of columns.dimensions) name(dimension, text(column))
  const status = fields['status'] === undefined ? undefined : Number(text(fields['status']))
  const tookMs = Math.round(Number(text(durationMs)) || 0)
  return { at: at - tookMs, line, subject, units: readUnits(columns, text), status }
}

function routeOf(method: string, path: string, { matchRoute }: CallDefaults): string | undefined {
  const [route = ''] = path.split('?')
  return matchRoute ? matchRoute(method || 'GET', route)?.id : route
}

function readUnits(
  { fields, units: ownUnits }: ColumnMap,
  text: (column: string | undefined) => string,
): Record<string, number> {
  const units: Record<string, number> = {}
  for (const [unit, field] of TOKENS) {
    const column = fields[field]
    if (column !== undefined) units[unit] = wholeNumber(column, text(column))
  }
  const { input_token: input, output_token: output } = units
  if (input !== undefined || output !== undefined) units['token'] ??= (input ?? 0) + (output ?? 0)
  if (fields['cost'] !== undefined)
    units['usd'] = microDollars(fields['cost'], text(fields['cost']))
  for (const [unit, column] of ownUnits) units[unit] = wholeNumber(column, text(column))
  return units
}

const TOKENS = [
  ['input_token', 'input'],
  ['output_token', 'output'],
  ['token', 'tokens'],
] as const

/** An empty value is 0: a request that failed has used nothing. */
function wholeNumber(column: string, text: string): number {
  const value = Number(text)
  if (isUnits(value)) return value
  throw new RowFault(`"${column}" ${MUST_BE_UNITS}`)
}

/** Rounds up, as prices do. */
function microDollars(column: string, text: string): number {
  const value = /^\d*(?:\.\d+)?(?:e-?\d+)?$/i.test(text) ? Number(text) * 1_000_000 : Number.NaN
  // 0.07 dollars are 70_000.000000000003 by floating point.
  const units = Math.ceil(value - 1e-4)
  if (isUnits(units)) return units
  throw new RowFault(`"${column}" must be an amount in dollars, such as 0.0045`)
}

const textOf = (value: unknown): string =>
  typeof value === 'string' ? value.trim() : typeof value === 'number' ? String(value) : ''
