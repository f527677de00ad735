import type { Call, CallSum } from '../call.ts'
import type { Row, Rows, TextChunks } from './row.ts'
import { durationMs, type Duration } from '@sluice/core'
import { compileRoutes, type RouteInput } from '@sluice/core/http'
import { assertOneOf, assertPositiveInteger, invalidOption } from '@sluice/core/internal'
import { assignTenants } from './assign-tenants.ts'
import { createCallReader, type CallDefaults } from './call-reader.ts'
import { mapColumns, type ColumnMap } from './columns.ts'
import { FactCollector, type LogFacts } from './facts.ts'
import { detectFormat, FORMATS, shapeOf, type LogFormat, type ReadCsv } from './formats.ts'
import { parseTime } from './parse-time.ts'
import { reorder } from './reorder.ts'
import { isUsageExport, spreadRows, sumOf, usageColumns } from './usage-calls.ts'

/** Options of `openLog` and `parseLog`. */
export interface LogOptions {
  /**
   * `'csv'` names its columns in its first line; `'jsonl'` has an object in each line, `'json'` is an array of
   * objects; `'otlp'` has a batch of spans in each line; `'access'` is the common or combined log format, `'alb'` that
   * of an Application Load Balancer. @default recognised by the first line
   */
  readonly format?: LogFormat | undefined
  /**
   * The column of each field: `time`, `tenant`, `user`, `route`, `model`, `plan`, `status`, `input`, `output`,
   * `tokens` (if input and output are not apart) and `cost` (dollars). `unit:images` is a unit of your own, and
   * any other name is a dimension that your policies count by. @default the usual names
   */
  readonly columns?: Readonly<Record<string, string>> | undefined
  /** The character between columns of CSV. @default ',' */
  readonly delimiter?: string | undefined
  /**
   * Assigns the calls of a log that names no tenants to this many: `t0`, `t1` … 3 % of them make 61 % of the
   * calls.
   */
  readonly tenants?: number | undefined
  /** Chooses another assignment of `tenants`. @default 1 */
  readonly seed?: number | undefined
  /** The time from which the log counts seconds, such as `2026-11-02T00:00:00Z`. @default its times are whole */
  readonly start?: string | undefined
  /** The plan of calls without one. @default the default plan of your limits */
  readonly plan?: string | undefined
  /** The model of calls without one, which sets their price. */
  readonly model?: string | undefined
  /**
   * Routes as in an adapter: patterns of the paths of the log, whose ids are the routes of calls. Calls that match
   * none are left out. @default the route is what the log has
   */
  readonly routes?: readonly RouteInput[] | undefined
  /** Leaves out calls with these statuses, such as 401. @default none */
  readonly ignoreStatus?: readonly number[] | undefined
  /**
   * The calls to hold back, to put them in order: a log of up to twice as many may have any order. Takes some 500 bytes
   * of memory for each. @default 10_000
   */
  readonly reorderCalls?: number | undefined
  /** The time that each row of a usage export covers. @default '1h' */
  readonly usagePeriod?: Duration | undefined
}

/** A log that can be read several times. */
export interface ParsedLog {
  readonly format: LogFormat
  /** The time over which the calls of a row are spread, in milliseconds; `undefined` if each row is a call. */
  readonly spreadMs: number | undefined
  /**
   * Reads the calls in the order of their times, without holding all of a long log in memory. Throws a ConfigError when
   * the log is further out of order than `reorderCalls` allows.
   */
  calls(onProgress?: (share: number) => void): AsyncIterable<Call>
  /** Reads the rows of a usage export as they are, in the order of their times. `undefined` if each row is a call. */
  readonly sums: ((onProgress?: (share: number) => void) => AsyncIterable<CallSum>) | undefined
  /** The facts of the last reading. */
  readonly facts: LogFacts
}

/** The text of a log, wherever it is. */
export interface LogText {
  /** Its beginning. */
  readonly start: string
  readonly open: (onProgress?: (share: number) => void) => TextChunks
  readonly readCsv: ReadCsv
}

/** Reads the columns of a log. @throws ConfigError When an option is invalid, or the log lacks a column. */
export async function readLog(
  { start, open, readCsv }: LogText,
  options: LogOptions,
): Promise<ParsedLog> {
  const { columns = {}, delimiter = ',', tenants, seed = 1, ignoreStatus = [] } = options
  const most = assertPositiveInteger('reorderCalls', options.reorderCalls ?? 10_000, 10_000_000)
  const periodMs = durationMs('usagePeriod', options.usagePeriod ?? '1h')
  if (tenants !== undefined) assertPositiveInteger('tenants', tenants)
  assertPositiveInteger('seed', seed, 2_147_483_646)
  const startMs = options.start === undefined ? undefined : parseTime(options.start)
  if (options.start !== undefined && startMs === undefined) {
    throw invalidOption('start', 'must be a time such as 2026-11-02T00:00:00Z', options.start)
  }
  const format = assertOneOf('format', options.format ?? detectFormat(start), FORMATS)
  const { names, rows } = await shapeOf(() => open(), start, format, delimiter, readCsv)
  const isUsage = isUsageExport(names)
  const map = mapColumns(names, isUsage ? { ...usageColumns(names), ...columns } : columns)
  if (map.fields['tenant'] === undefined && tenants === undefined) {
    const message = 'must name the tenant, such as "tenant=org_id"; "tenants" assigns some'
    throw invalidOption('columns', message)
  }
  const matchRoute = options.routes && compileRoutes(options.routes)
  let facts = new FactCollector()

  async function* readCalls(found: Rows): AsyncGenerator<Call> {
    const defaults: CallDefaults = {
      start: startMs,
      plan: options.plan,
      model: options.model,
      matchRoute,
      tenant: tenants === undefined ? undefined : assignTenants(tenants, seed),
    }
    const readCall = createCallReader(map, defaults)
    const isRequest = requestFilter(map)
    for await (const row of found) {
      if ('values' in row && !isRequest(row.values)) {
        facts.others += 1
        continue
      }
      const call = 'reason' in row ? row : readCall(row)
      if ('reason' in call) facts.addFault(call)
      else if (ignoreStatus.includes(call.status ?? 0)) facts.ignored += 1
      else if (matchRoute && call.subject.route === undefined) facts.unmatched += 1
      else yield call
    }
  }

  function read(onProgress: ((share: number) => void) | undefined): AsyncGenerator<Call> {
    facts = new FactCollector()
    return readCalls(rows(open(onProgress)))
  }
  const inOrder = (calls: AsyncIterable<Call>): AsyncGenerator<Call> => reorder(calls, most)

  return {
    format,
    spreadMs: isUsage ? periodMs : undefined,
    calls(onProgress) {
      const calls = inOrder(read(onProgress))
      // Rows that overlap give calls that do.
      return isUsage ? inOrder(spreadRows(calls, periodMs)) : calls
    },
    sums: isUsage ? (onProgress) => sumsOf(inOrder(read(onProgress))) : undefined,
    get facts() {
      return facts.read()
    },
  }
}

async function* sumsOf(rows: AsyncIterable<Call>): AsyncGenerator<CallSum> {
  for await (const row of rows) yield sumOf(row)
}

/** The ids of requests that are remembered, to recognise their further lines. */
const MAX_REQUEST_IDS = 100_000

/** Creates a function that returns true for the first line of each request. */
function requestFilter({ request, requestId }: ColumnMap): (values: Row['values']) => boolean {
  const known = new Set<unknown>()
  return (values) => {
    if (request !== undefined && values[request] === undefined) return false
    const id = requestId === undefined ? undefined : values[requestId]
    if (id === undefined) return true
    if (known.has(id)) return false
    known.add(id)
    if (known.size > MAX_REQUEST_IDS) known.delete(known.values().next().value)
    return true
  }
}
