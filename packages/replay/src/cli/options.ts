import { parseArgs } from 'node:util'
import type { Duration } from '@sluice/core'
import type { RouteOptions } from '@sluice/core/http'
import type { LogOptions } from '../log/open-log.ts'
import type { LogFormat } from '../log/formats.ts'
import { optionError } from '../option-error.ts'

export const USAGE: string = `Usage: sluice-replay LOG --policies limits.ts [options]

Replays a log through your limits, in memory and at the times of the log: who would have been denied, when, and
what it would have saved.

Limits
  --policies FILE       exports "limiter", or "policies" (and "plans", "prices")
  --against FILE        other limits, to compare with
  --except T1,T2        tenants that may be denied; all others count as normal
  --suggest             also find the smallest limits that deny nobody but --except

Log
  --format NAME         csv, jsonl, json, otlp, access or alb (default: recognised by the first line); .gz is unzipped
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
  --reorder-calls N     the most calls to hold back, to put them in order (default: 10000)
  --reorder-window TIME the longest time to hold one back, by the log's times (default: 1m)
  --usage-period TIME   the time that each row of a usage export covers (default: 1h)

Output
  --json                print the result as JSON
  --html FILE           write a page with plots, that needs no network
  --denials FILE        write each denial as a line of JSON
  --help                print this
  --version             print the version
`

/** The action that a command line requests. */
export type CliAction =
  | { readonly kind: 'help' }
  | { readonly kind: 'version' }
  | { readonly kind: 'replay'; readonly options: ReplayArgs }

/** The options of a replay. */
export interface ReplayArgs {
  readonly log: string
  readonly policies: string
  readonly against: string | undefined
  readonly except: readonly string[] | undefined
  readonly suggest: boolean
  readonly logOptions: LogOptions
  readonly json: boolean
  readonly html: string | undefined
  readonly denials: string | undefined
}

/**
 * Reads the command line.
 *
 * @throws ConfigError When an option is missing or malformed.
 * @throws TypeError When an option is unknown or lacks its value.
 */
export function parseCommandLine(args: string[]): CliAction {
  const { values, positionals } = parseArgs({ args, allowPositionals: true, options: OPTIONS })
  if (values.help) return { kind: 'help' }
  if (values.version) return { kind: 'version' }
  const [log, ...others] = positionals
  if (log === undefined || others.length > 0) {
    throw optionError('log', 'must be one file, such as requests.csv', positionals.join(' '))
  }
  if (values.policies === undefined) {
    throw optionError('policies', 'is missing; name the file of your limits: --policies limits.ts')
  }
  return {
    kind: 'replay',
    options: {
      log,
      policies: values.policies,
      against: values.against,
      except: values.except === undefined ? undefined : listOf('except', values.except),
      suggest: values.suggest ?? false,
      logOptions: {
        format: values.format as LogFormat | undefined,
        columns: values.columns === undefined ? undefined : columnsOf(values.columns),
        delimiter: values.delimiter,
        routes: values.routes === undefined ? undefined : routesOf(values.routes),
        start: values.start,
        tenants: numberOf('tenants', values.tenants),
        seed: numberOf('seed', values.seed),
        plan: values.plan,
        model: values.model,
        ignoreStatus: statusesOf(values['ignore-status']),
        reorderCalls: numberOf('reorder-calls', values['reorder-calls']),
        reorderWindow: values['reorder-window'] as Duration | undefined,
        usagePeriod: values['usage-period'] as Duration | undefined,
      },
      json: values.json ?? false,
      html: values.html,
      denials: values.denials,
    },
  }
}

const TEXT = { type: 'string' } as const
const FLAG = { type: 'boolean' } as const
const OPTIONS = {
  policies: TEXT,
  against: TEXT,
  except: TEXT,
  suggest: FLAG,
  format: TEXT,
  columns: TEXT,
  delimiter: TEXT,
  routes: TEXT,
  start: TEXT,
  tenants: TEXT,
  seed: TEXT,
  plan: TEXT,
  model: TEXT,
  'ignore-status': TEXT,
  'reorder-calls': TEXT,
  'reorder-window': TEXT,
  'usage-period': TEXT,
  json: FLAG,
  html: TEXT,
  denials: TEXT,
  help: { type: 'boolean', short: 'h' },
  version: { type: 'boolean', short: 'v' },
} as const

function listOf(option: string, text: string): string[] {
  const list = text.split(',').map((item) => item.trim())
  if (list.every((item) => item !== '')) return list
  throw optionError(option, 'must be a list such as "a,b"', text)
}

function columnsOf(text: string): Record<string, string> {
  const pairs = listOf('columns', text).map((pair) => {
    const [, field, column] = /^([^=]+)=(.+)$/.exec(pair) ?? []
    if (field !== undefined && column !== undefined) return [field, column] as const
    throw optionError('columns', 'must be a list such as "time=ts,tenant=org_id"', text)
  })
  return Object.fromEntries(pairs)
}

const routesOf = (text: string): RouteOptions[] =>
  listOf('routes', text).map((item) => {
    const [path = '', id] = item.split('=')
    return id === undefined ? { path } : { path, id }
  })

function statusesOf(text: string | undefined): number[] {
  if (text === undefined) return []
  return listOf('ignore-status', text).map((item) => {
    if (/^[1-5]\d\d$/.test(item)) return Number(item)
    throw optionError('ignore-status', 'must be a list of statuses such as "401,404"', text)
  })
}

function numberOf(option: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  if (/^\d+$/.test(text)) return Number(text)
  throw optionError(option, 'must be a whole number', text)
}
