import type { Duration } from '@sluice/core'
import type { RouteOptions } from '@sluice/core/http'
import type { LogFormat, LogOptions } from '@sluice/replay'
import { textOf, type Values } from '../command.ts'
import { refuse } from '../errors.ts'

export const LOG_USAGE = `  --format NAME         csv, jsonl, json, otlp, access or alb (default: recognised by the first line); .gz is unzipped
  --columns F=C,F=C     the columns of time, tenant, user, route, model, plan, status, input, output, tokens, cost
                        (dollars), of other dimensions, and of units of your own (unit:images=image_count)
  --delimiter CHAR      between columns of CSV (default: ,)
  --routes P=ID,P       patterns of paths, such as /api/ai/**=ai; calls that match none are left out
  --start TIME          the time from which the log counts seconds, such as 2026-11-02T00:00:00Z
  --tenants N           assign the calls to N tenants: 3 % of them make 61 % of the calls
  --seed N              chooses another assignment (default: 1)
  --plan NAME           the plan of calls without one (default: your default plan)
  --model NAME          the model of calls without one, for their price
  --ignore-status A,B   leave out calls with these statuses
  --reorder-calls N     the calls to hold back, to put them in order: any order for twice as many
                        (default: 10000; 250000 for a log that is not sorted)
  --usage-period TIME   the time that each row of a usage export covers (default: 1h)
`

/** Returns how a command line wants a log to be read. @throws CommandError */
export function logOptionsOf(values: Values): LogOptions {
  const text = (name: string): string | undefined => textOf(values, name)
  const [columns, routes] = [text('columns'), text('routes')]
  return {
    format: text('format') as LogFormat | undefined,
    columns: columns === undefined ? undefined : columnsOf(columns),
    delimiter: text('delimiter'),
    routes: routes === undefined ? undefined : routesOf(routes),
    start: text('start'),
    tenants: numberOf(values, 'tenants'),
    seed: numberOf(values, 'seed'),
    plan: text('plan'),
    model: text('model'),
    ignoreStatus: statusesOf(text('ignore-status')),
    reorderCalls: numberOf(values, 'reorder-calls'),
    usagePeriod: text('usage-period') as Duration | undefined,
  }
}

/** Returns the items of an option that is a list. @throws CommandError When one is empty. */
export function itemsOf(option: string, text: string): string[] {
  const items = text.split(',').map((item) => item.trim())
  if (items.every((item) => item !== '')) return items
  return refuse(`--${option} ${text} must be a list such as "a,b"`)
}

function columnsOf(text: string): Record<string, string> {
  const pairs = itemsOf('columns', text).map((pair) => {
    const [, field, column] = /^([^=]+)=(.+)$/.exec(pair) ?? []
    if (field !== undefined && column !== undefined) return [field, column] as const
    return refuse(`--columns ${text} must be a list such as "time=ts,tenant=org_id"`)
  })
  return Object.fromEntries(pairs)
}

const routesOf = (text: string): RouteOptions[] =>
  itemsOf('routes', text).map((item) => {
    const [path = '', id] = item.split('=')
    return id === undefined ? { path } : { path, id }
  })

function statusesOf(text: string | undefined): number[] {
  if (text === undefined) return []
  return itemsOf('ignore-status', text).map((item) => {
    if (/^[1-5]\d\d$/.test(item)) return Number(item)
    return refuse(`--ignore-status ${text} must be a list of statuses such as "401,404"`)
  })
}

function numberOf(values: Values, option: string): number | undefined {
  const text = textOf(values, option)
  if (text === undefined) return undefined
  if (/^\d+$/.test(text)) return Number(text)
  return refuse(`--${option} ${text} must be a whole number`)
}
